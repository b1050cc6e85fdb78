#!/bin/sh
# Saves while the machine misbehaves: killed at every system call of a kind and at 200 other times, full disks, limits,
# a directory that may not be written. After each, the file is whole, and the resumed run is the uninterrupted one.
# Started by hand (a minute or two); needs strace, and root for some cases.
# Usage: checkpoint_faults.sh ROOT LIBRARY [FLAGS]   TAP; LIBRARY is a built libgradus.a, $CXX the compiler
set -eu
. "$(dirname "$0")/tap.sh"
root=$1
library=$2
flags=${3:--march=native}

cat >"$work/run.cpp" <<'TEXT'
// run FILE train N: N steps from the start, saved. run FILE resume N: loaded, trained up to N steps, saved.
// run FILE loop: loaded, then one step and one save again and again.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "autograd/ops.h"
#include "nn/checkpoint.h"
#include "nn/layers.h"

int main(int, char** argv) try {
  using namespace gradus;
  Generator init(1, "init"), data(1, "data");
  Linear layer(64, 64, init);
  Adam adam(parameters(layer));
  std::int64_t step = 0;
  const Training training{parameters(layer), &adam, {{"data", &data}}, &step};
  const auto train = [&] {
    zero_grad(training.parameters);
    backward(sum(square(layer(Var(random_normal(Shape{2, 64}, 0, 1, data))))));
    adam.step();
    ++step;
  };
  if (std::strcmp(argv[2], "train") != 0) load_checkpoint(argv[1], training);
  if (std::strcmp(argv[2], "loop") == 0) {
    for (;; train()) save_checkpoint(argv[1], training);
  }
  while (step < std::atoi(argv[3])) train();
  save_checkpoint(argv[1], training);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
TEXT
# shellcheck disable=SC2086  # several words each
${CXX:-c++} -std=c++20 -O1 $flags -I"$root" "$work/run.cpp" "$library" -lfmt -pthread -o "$work/run"
chmod 755 "$work"
mkdir "$work/place"
file=$work/place/model.safetensors
"$work/run" "$work/five" train 5
"$work/run" "$work/six" train 6
"$work/run" "$work/eight" train 8

# The file holds 5 steps or 6, and going on from there to 8 gives the bytes of 8 without a break; nothing else is left.
whole() {
  cmp -s "$file" "$work/five" || cmp -s "$file" "$work/six" || { echo "the file is neither the old nor the new one"; return 1; }
  "$work/run" "$file" resume 8 && cmp "$file" "$work/eight" && [ "$(ls "$work/place")" = model.safetensors ]
}

# killed_at CALL: kills the saving program at its first, second... CALL until it gets through.
killed_at() {
  count=0
  while :; do
    cp "$work/five" "$file"
    code=0
    strace -f -o "$work/trace" -e "inject=$1:signal=KILL:when=$((count + 1))" "$work/run" "$file" resume 6 || code=$?
    [ "$code" -ne 0 ] || break
    [ "$code" -eq 137 ] || { echo "exit $code at number $((count + 1))"; return 1; }
    count=$((count + 1))
    whole || { echo "after number $count"; return 1; }
  done
  total=$((total + count))
  echo "# $1: $count kills" >&3
  [ "$count" -gt 0 ]
}

# refuses TEXT COMMAND...: exit 1 with path, cause, the old file, and nothing beside it.
refuses() {
  text=$1
  shift
  cp "$work/five" "$file"
  code=0
  "$@" >"$work/said" 2>&1 || code=$?
  cat "$work/said"
  echo "exit $code"
  [ "$code" -eq 1 ] && grep -qF "cannot write $file: $text" "$work/said" && cmp "$file" "$work/five" &&
    [ "$(ls "$work/place")" = model.safetensors ]
}

exec 3>&1
total=0
if command -v strace >/dev/null && strace -o "$work/trace" true 2>/dev/null; then
  for call in openat fstat,newfstatat,lstat flock ftruncate fchmod write fsync rename close rt_sigprocmask; do
    check "killed at every $call: old or new, and resumed exactly" killed_at "$call"
  done
  echo "# $total kills in all"
  # -P: only calls on the file that is being written
  for fault in openat:ENOSPC openat:EROFS ftruncate:EIO write:ENOSPC write:EDQUOT write:EIO fsync:EIO fsync:ENOSPC \
    rename:EACCES rename:ENOSPC; do
    call=${fault%:*}
    case ${fault#*:} in
      ENOSPC) text='No space left on device' ;;
      EDQUOT) text='Disk quota exceeded' ;;
      EROFS) text='Read-only file system' ;;
      EACCES) text='Permission denied' ;;
      *) text='Input/output error' ;;
    esac
    check "$fault: said, and the old file stays" refuses "$text" \
      strace -o "$work/trace" -P "$file.tmp" -e "inject=$call:error=${fault#*:}" "$work/run" "$file" resume 6
  done
  late() {
    refuses 'No space left on device' \
      strace -o "$work/trace" -P "$file.tmp" -e "inject=write:error=ENOSPC:when=$1" "$work/run" "$file" resume 6
  }
  for n in 2 3 4 7; do check "the disk is full at write $n: said, and the old file stays" late "$n"; done
  interrupted() {
    cp "$work/five" "$file"
    strace -o "$work/trace" -P "$file.tmp" -e "inject=write:error=EINTR:when=1..3" "$work/run" "$file" resume 6 && whole
  }
  check "interrupted writes go on" interrupted
else
  skip "kills and errors of system calls" "strace is not allowed here"
fi

check "a limit of file size (SIGXFSZ)" refuses 'File too large' sh -c "ulimit -f 8; '$work/run' '$file' resume 6"

if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
  cat >"$work/full.sh" <<TEXT
mount -t tmpfs -o size=72k none '$work/place' && cp '$work/five' '$file' || exit 9
'$work/run' '$file' resume 6
code=\$?
cmp '$file' '$work/five' && [ "\$(ls '$work/place')" = model.safetensors ] || exit 8
exit \$code
TEXT
  check "a full disk" refuses 'No space left on device' unshare -m sh "$work/full.sh"
  barred() {
    chmod 555 "$work/place"
    refuses 'Permission denied' setpriv --reuid=65534 --clear-groups "$work/run" "$file" resume 6
    code=$?
    chmod 755 "$work/place"
    return $code
  }
  check "a directory that may not be written" barred
else
  skip "a full disk, a directory that may not be written" "needs root"
fi

random_kills() {
  cp "$work/five" "$file"
  i=0
  while [ $i -lt 200 ]; do
    i=$((i + 1))
    timeout -s KILL "0.0$((i * 7 % 10))$((i * 3 % 10))5" "$work/run" "$file" loop || :
    # A file that was not whole would not load; going on from it must be possible.
    cp "$file" "$work/found"
    "$work/run" "$work/found" resume 1 || { echo "after kill $i"; return 1; }
  done
  "$work/run" "$file" resume 1 && [ "$(ls "$work/place")" = model.safetensors ] || return 1
  steps=$(grep -ao '"step":"[0-9]*"' "$file" | tr -dc 0-9)
  echo "# 200 kills: step $steps reached" >&3
  "$work/run" "$work/straight" train "$steps" && cmp "$file" "$work/straight"
}
check "killed at 200 times: goes on, and ends as the run without a break" random_kills
finish
