#!/usr/bin/env bash
# record.sh FOLDER CLI ARGS...: runs the CLI, and keeps what it was given and what it printed.
folder=$1
shift
mkdir -p "$folder"
printf '%s\n' "$@" >"$folder/argv"
trap : TERM INT
"$@" <&0 > >(trap '' TERM INT; exec tee "$folder/stdout") 2> >(trap '' TERM INT; exec tee "$folder/stderr" >&2) &
wait $!
status=$?
if [ $status -gt 128 ]; then wait $!; status=$?; fi
echo $status >"$folder/exit"
exit $status
