# shellcheck shell=bash
# Nightshift from bash: what an attempt says while it works.
#
# One file, bash 4.4 or newer and curl: copy it into your project. A script that Nightshift runs:
#
#     . ./nightshift.sh
#     done=$(nightshift_load 0)                    # what was saved last, by whatever attempt
#     while [ "$done" -lt 10000 ]; do
#       work_on_hundred_after "$done"; done=$((done + 100))
#       nightshift_save "$done"                    # it is on disk when this returns
#       nightshift_progress "$done" 10000
#     done
#     nightshift_complete '{"records": 10000}'     # the result of the run
#
# What was started by a webhook sets NIGHTSHIFT_CALLBACK and NIGHTSHIFT_CALLBACK_TOKEN to the headers
# Nightshift-Callback and Nightshift-Token. Values are JSON, texts are UTF-8.
#
#     nightshift_load [DEFAULT]           nightshift_progress DONE [TOTAL [NOTE]]
#     nightshift_save JSON                nightshift_log TEXT
#     nightshift_complete [JSON]          nightshift_heartbeat
#     nightshift_fail MESSAGE [TYPE]      nightshift_heart SECONDS   (until complete, fail or the end)
#
# load, save, complete and fail are repeated until they are answered, for NIGHTSHIFT_PATIENCE seconds
# (300): to repeat them is safe. They return 1 where Nightshift refuses (413: too large, what was saved
# before is kept), 2 where it did not answer. progress, log and heartbeat are tried once and return 0
# where they did not get through. What went wrong is told on stderr. Where the attempt has ended
# (cancelled, timed out, replaced by a newer one) nothing it says counts any more: the script gets
# SIGTERM. The token is never an argument of a program, and is not traced by set -x.
#
# MIT licence, as Nightshift.

: "${NIGHTSHIFT_CALLBACK:?is not set: this was not started by Nightshift}"
: "${NIGHTSHIFT_CALLBACK_TOKEN:?is not set: this was not started by Nightshift}"
nightshift_beating=

nightshift_load() {
  local value
  value=$(nightshift_insist GET checkpoint) || return
  if [ "$value" = null ]; then value=${1-null}; fi
  printf '%s\n' "$value"
}

nightshift_save() {
  nightshift_insist PUT checkpoint application/json "$1" >/dev/null
}

nightshift_progress() {
  local told="\"done\":$1"
  if [ -n "${2-}" ]; then told+=",\"total\":$2"; fi
  if [ -n "${3-}" ]; then told+=",\"note\":$(nightshift_quote "$3")"; fi
  nightshift_tell progress application/json "{$told}"
}

nightshift_log() {
  nightshift_tell log text/plain "$1"
}

nightshift_heartbeat() {
  nightshift_tell heartbeat application/json ''
}

# Sends a heartbeat every so many seconds, in the background.
nightshift_heart() {
  (
    trap - EXIT TERM INT HUP
    while kill -0 $$ 2>/dev/null; do
      nightshift_heartbeat || exit
      sleep "$1" 2>/dev/null # it outlives this by as much, and shall hold no one's pipe open
    done
  ) </dev/null >/dev/null &
  nightshift_beating=$!
  disown
}

nightshift_complete() {
  nightshift_rest
  nightshift_insist POST complete application/json "{\"result\":${1-null}}" >/dev/null
}

nightshift_fail() {
  local told
  told="\"message\":$(nightshift_quote "$1")"
  if [ -n "${2-}" ]; then told+=",\"type\":$(nightshift_quote "$2")"; fi
  nightshift_rest
  nightshift_insist POST fail application/json "{$told}" >/dev/null
}

nightshift_rest() {
  if [ -n "$nightshift_beating" ]; then kill "$nightshift_beating" 2>/dev/null || :; fi
  nightshift_beating=
}

# nightshift_tell PATH TYPE BODY: tries once; no answer is not the script's failure.
nightshift_tell() {
  local rc=0
  nightshift_ask POST "$@" >/dev/null || rc=$?
  [ "$rc" -ne 1 ]
}

# nightshift_insist METHOD PATH [TYPE BODY]: asks until there is an answer, and prints it.
nightshift_insist() {
  local rc try wait end=$((SECONDS + ${NIGHTSHIFT_PATIENCE:-300}))
  for ((try = 0; ; try++)); do
    rc=0
    nightshift_ask "$@" || rc=$?
    if [ "$rc" -ne 2 ] || [ "$SECONDS" -ge "$end" ]; then return "$rc"; fi
    case $try in 0) wait=0.1 ;; 1) wait=0.2 ;; 2) wait=0.5 ;; 3) wait=1 ;; 4) wait=2 ;; *) wait=5 ;; esac
    sleep "$wait"
  done
}

# nightshift_ask METHOD PATH [TYPE BODY]: asks once and prints the answer. 1: refused, 2: it may be
# answered another time.
nightshift_ask() {
  local -
  { set +x; } 2>/dev/null
  local answer status said=
  answer=$(printf %s "${4-}" | curl -q -sS --max-time 30 -X "$1" \
    -H @<(printf 'Authorization: Bearer %s\n' "$NIGHTSHIFT_CALLBACK_TOKEN") \
    -H "Content-Type: ${3-application/json}" -H 'Expect:' --data-binary @- \
    -w '\n%{http_code}' "${NIGHTSHIFT_CALLBACK%/}/$2") || return 2
  status=${answer##*$'\n'} answer=${answer%$'\n'*}
  case $status in
  2??)
    printf '%s\n' "$answer"
    return 0
    ;;
  esac
  # What it says of itself, as it came: an answer of Nightshift is one line of problem+json.
  case $answer in *'"urn:nightshift:problem:'*) said=${answer:0:1000} ;; esac
  printf 'nightshift: %s: %s %s\n' "$2" "$status" "$said" >&2
  case $status in
  409) nightshift_over ;;
  404) if [ -n "$said" ]; then nightshift_over; fi ;;
  429 | 5??) return 2 ;;
  esac
  return 1
}

# The attempt has ended: so shall the script, also where this runs in a part of it.
nightshift_over() {
  echo 'nightshift: the attempt is over: this script is ended' >&2
  kill -TERM $$
  exit 1
}

# nightshift_quote TEXT: prints it as a string of JSON.
nightshift_quote() {
  local LC_ALL=C text=$1 back='\' quote='"'
  text=${text//"$back"/"$back$back"}
  text=${text//"$quote"/"$back$quote"}
  text=${text//$'\n'/"${back}n"}
  text=${text//$'\t'/"${back}t"}
  printf '"%s"' "${text//[[:cntrl:]]/ }"
}
