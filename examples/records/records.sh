#!/usr/bin/env bash
# Does records one by one and saves after each hundred how far it is: whatever kills it, the next attempt
# goes on there. It speaks to the callback with curl alone.
set -euo pipefail

# call PATH [OPTION...]: an answer that is not 2xx ends the script, and what passes is tried again. The
# token comes from a descriptor: arguments of a program are seen by all of the machine.
call() {
  curl -fsS --retry 8 --retry-connrefused -H @<(echo "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN") \
    -H 'Content-Type: application/json' "$NIGHTSHIFT_CALLBACK/$1" "${@:2}"
}

first=$(call checkpoint)
if [ "$first" = null ]; then first=0; fi
echo "process $$ goes on after record $first"
exec 3>>"$OUT"
for ((record = first + 1; record <= RECORDS; record++)); do
  echo "$record" >&3 # the work
  if ((record % 100 == 0)); then
    sleep "$PAUSE"
    call checkpoint -X PUT -d "$record"
    call progress -d "{\"done\": $record, \"total\": $RECORDS}"
  fi
done
call complete -d "{\"result\": {\"records\": $RECORDS, \"this_time\": $((RECORDS - first))}}" >/dev/null
