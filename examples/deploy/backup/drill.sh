#!/bin/sh
# drill.sh COPY: tries a copy that backup.sh made: it is restored beside, checked page by page, and served. A restored file is
# held: no run starts, no tick is decided and nobody is told, so the drill can be done on any machine, at any time.
set -eu
umask 077
copy=$1
port=${PORT:-8799}
dir=$(mktemp -d)
server=
end() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || :
		wait "$server" 2>/dev/null || :
	fi
	rm -rf "$dir"
}
trap end EXIT
NIGHTSHIFT_TOKEN=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
NIGHTSHIFT_SERVER=http://127.0.0.1:$port
export NIGHTSHIFT_TOKEN NIGHTSHIFT_SERVER
nightshift restore "$copy/nightshift.db" --db "$dir/nightshift.db"
if [ -e "$copy/nightshift.db.key" ]; then cp "$copy/nightshift.db.key" "$dir/nightshift.db.key"; fi
nightshift serve --db "$dir/nightshift.db" --listen "127.0.0.1:$port" --scripts off --snapshot-every off 2>"$dir/log" >&2 &
server=$!
tries=0
until nightshift jobs >/dev/null 2>&1; do
	tries=$((tries + 1))
	if [ $tries -gt 100 ] || ! kill -0 "$server" 2>/dev/null; then
		cat "$dir/log" >&2
		exit 1
	fi
	sleep 0.1
done
# Not ready, for it is held: anything else is a surprise.
if nightshift ready >"$dir/ready" 2>&1 || ! grep -q 'held' "$dir/ready"; then
	cat "$dir/ready" >&2
	echo "the restored server is not held: stop it" >&2
	exit 1
fi
echo "It can be restored. Newest runs:"
nightshift runs --limit 3
