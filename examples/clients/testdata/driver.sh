# Reads lines "PATIENCE CALLBACK CALL [JSON]", makes the call, and prints in a line what came of it.
set -euo pipefail

NIGHTSHIFT_CALLBACK=unset NIGHTSHIFT_CALLBACK_TOKEN=$TOKEN
. "${0%/*}/../nightshift.sh"
ended=
trap 'ended=1' TERM

# Texts come as JSON strings without escapes but \" \\ \n.
plain() {
  local text=${1#\"}
  text=${text%\"}
  printf '%b' "${text//\\\"/\"}"
}

echo started
while read -r NIGHTSHIFT_PATIENCE NIGHTSHIFT_CALLBACK call argument; do
  ended= rc=0 said=
  case $call in
  load) said=$(set -x && nightshift_load) || rc=$? ;;
  progress) (nightshift_progress 3 4 "$(plain "$argument")") || rc=$? ;;
  log) (nightshift_log "$(plain "$argument")") || rc=$? ;;
  fail) (nightshift_fail "$(plain "$argument")" ValueError) || rc=$? ;;
  heartbeat) (nightshift_heartbeat) || rc=$? ;;
  heart)
    nightshift_heart 0.02
    while [ -z "$ended" ]; do sleep 0.01; done
    ended=
    ;;
  *) ("nightshift_$call" "$argument") || rc=$? ;;
  esac
  # The signal of a call in a subshell has come by now: the kill was before its end.
  if [ -n "$ended" ]; then
    echo over
  else
    case $rc in 0) echo "ok${said:+ $said}" ;; 1) echo refused ;; 2) echo unreachable ;; *) echo "exit $rc" ;; esac
  fi
done
