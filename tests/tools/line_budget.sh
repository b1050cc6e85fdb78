#!/bin/sh
# Counts the lines of tensor/, autograd/ and nn/ that a reader has to read, against the limits of meson.build.
# Usage: line_budget.sh print FILE ROOT FOLDER=LIMIT...   one line for the build, kept in FILE
#        line_budget.sh test ROOT FOLDER=LIMIT...         TAP, one case a folder
set -eu
mode=$1
shift
if [ "$mode" = print ]; then
  file=$1
  shift
fi
root=$1
shift

line='lines:'
number=0
failed=0
for pair in "$@"; do
  folder=${pair%=*}
  limit=${pair#*=}
  count=$(find "$root/$folder" \( -name kernels -o -name formats -o -name conventions \) -prune -o \
    -type f \( -name '*.h' -o -name '*.cpp' \) ! -name '*_messages*' -exec cat {} + | wc -l)
  count=$((count))
  number=$((number + 1))
  verdict=ok
  if [ "$count" -gt "$limit" ]; then
    verdict='not ok'
    failed=1
    [ "$mode" = print ] || echo "$folder/ has $((count - limit)) lines too many: take something out, or tell docs/decisions.md why not" >&2
  fi
  if [ "$mode" = test ]; then echo "$verdict $number - line budget: $folder/ has $count of $limit lines"; fi
  line="$line  $folder/ $count of $limit"
done

if [ "$mode" = print ]; then
  printf '%s\n' "$line" | tee "$file"
else
  echo "1..$number"
  exit "$failed"
fi
