#!/bin/sh
# backup.sh DB FOLDER [SCRIPTS]: copies what is needed to go on elsewhere into a folder named by the time below FOLDER, such as
# a disk that is mounted there, and says whether the copy is whole. It may run at any time: backups/latest.db is replaced by
# rename, so a copy of it is never half of one. KEEP (30) copies are kept.
set -eu
umask 077
db=$1 folder=$2 scripts=${3-}
dest=$folder/$(date -u +%Y-%m-%dT%H%M%SZ)
mkdir -p "$dest.part"
trap 'rm -rf "$dest.part"' EXIT
cp "$(dirname "$db")/backups/latest.db" "$dest.part/nightshift.db"
# It opens the secrets of jobs and signs links. Where NIGHTSHIFT_KEY is given instead, keep that.
if [ -e "$db.key" ]; then cp "$db.key" "$dest.part/nightshift.db.key"; fi
if [ -n "$scripts" ]; then cp -R "$scripts" "$dest.part/scripts"; fi
# What is wrong goes where cron looks.
said=$(nightshift verify "$dest.part/nightshift.db" 2>&1) || { echo "$said" >&2; exit 1; }
echo "$said"
mv "$dest.part" "$dest"
# Off the machine, one of:
#   rsync -a "$dest" backup@elsewhere:nightshift/
#   restic backup --tag nightshift "$dest"        (encrypts; the key may lie with the file only where something does)
#   rclone copy "$dest" remote:nightshift/"$(basename "$dest")"
ls -d "$folder"/????-??-??T??????Z | sort -r | tail -n +$((${KEEP:-30} + 1)) | while read -r old; do rm -rf "$old"; done
echo "$dest"
