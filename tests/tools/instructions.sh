#!/bin/sh
# Counts the instructions of five small cases under callgrind and compares them with tests/bench/instructions.txt: a
# count does not depend on what else the machine does, so a slowdown of three percent is seen. valgrind knows no AVX-512,
# so PROGRAM is built for x86-64-v3, and the counts hold for the compiler that they name.
# Usage: instructions.sh test|renew ROOT PROGRAM COMPILER   TAP; COMPILER as in "gcc 12.2.0"
# Renew, after a change that is meant:  ninja -C build renew_instructions
set -eu
. "$(dirname "$0")/tap.sh"
mode=$1
record=$2/tests/bench/instructions.txt
program=${3:-}
# Counting happens in a directory of its own.
case $program in "" | /*) ;; *) program=$PWD/$program ;; esac
compiler=${4:-}
cases='chain_tanh_64 bahdanau_d16_T20_B1 gru_d16 gradcheck_attention checkpoint'
recorded_for=$(sed -n 's/^compiler //p' "$record" 2>/dev/null || :)

# meson has malloc fill what it gives, which would be counted too.
unset MALLOC_PERTURB_
count() {
  (cd "$work" && valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no \
    --toggle-collect=gradus_counted "$program" "$1" 2>&1) | sed -n 's/.*Collected : //p'
}
recorded() { sed -n "s/^$1 //p" "$record"; }

# Less is no failure, but should be recorded: else a later loss hides behind it.
not_more() {
  now=$(count "$1")
  before=$(recorded "$1")
  echo "$1: $now instructions, $before recorded for $compiler; if that is meant: ninja -C build renew_instructions"
  [ -n "$now" ] && [ -n "$before" ] && [ "$now" -le $((before + before * 3 / 100)) ]
}

if [ "$mode" = renew ]; then
  {
    echo "compiler $compiler"
    for case in $cases; do echo "$case $(count "$case")"; done
  } >"$work/new"
  cp "$work/new" "$record"
  cat "$record"
  exit 0
fi
for case in $cases; do
  if [ -z "$program" ]; then
    skip "instructions: $case" "needs valgrind (apt-get install valgrind), x86-64 and an optimised build without sanitizers"
  elif [ "$compiler" != "$recorded_for" ]; then
    skip "instructions: $case" "counted with $recorded_for, and this is $compiler"
  else
    check "instructions: $case" not_more "$case"
  fi
done
finish
