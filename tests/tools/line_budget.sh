#!/bin/sh
# Counts the lines of tensor/, autograd/ and nn/ that a reader has to read, against the limits of meson.build.
# Usage: line_budget.sh print FILE ROOT FOLDER=LIMIT...   one line for the build, kept in FILE
#        line_budget.sh test ROOT FOLDER=LIMIT...         TAP, one case a folder, and that the count counts what it should
set -eu

# count FOLDER: its lines, comments included; kernels, the shape doctor, file formats, conventions and tables of messages are not counted.
count() {
  find "$1" \( -name kernels -o -name formats -o -name conventions -o -name doctor \) -prune -o \
    -type f \( -name '*.h' -o -name '*.cpp' \) ! -name '*_messages*' -exec cat {} + | wc -l | tr -d ' '
}

if [ "$1" = print ]; then
  file=$2
  root=$3
  shift 3
  line='lines:'
  for pair in "$@"; do line="$line  ${pair%=*}/ $(count "$root/${pair%=*}") of ${pair#*=}"; done
  printf '%s\n' "$line" | tee "$file"
  exit
fi

. "$(dirname "$0")/tap.sh"
root=$2
shift 2
within() {
  lines=$(count "$1")
  echo "$lines lines, $2 allowed: take something out, or raise the limit in meson.build and say why in docs/decisions.md"
  [ "$lines" -gt 0 ] && [ "$lines" -le "$2" ]
}
for pair in "$@"; do check "line budget: ${pair%=*}/ has at most ${pair#*=} lines" within "$root/${pair%=*}" "${pair#*=}"; done

mkdir -p "$work/nn/formats" "$work/nn/conventions/reference" "$work/nn/deep/kernels" "$work/nn/doctor"
for counted in a.h b.cpp deep/c.cpp; do printf '1\n2\n3\n' >"$work/nn/$counted"; done
for apart in formats/a.cpp conventions/reference/a.h deep/kernels/a.h doctor/a.h error_messages.cpp notes.md; do echo 1 >"$work/nn/$apart"; done
counts() { [ "$(count "$work/nn")" = "$1" ]; }
check "line budget: counts sources and headers, and what is apart not" counts 9
check "line budget: 9 of 9 lines are within it" within "$work/nn" 9
over() { ! within "$work/nn" 8; }
check "line budget: 9 of 8 lines are not" over
finish
