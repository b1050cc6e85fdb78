#!/bin/sh
# Where the results cannot be written, a lesson shows them all first and says last what is missing: sh full_disk.sh LESSONS
# LESSONS is the build's directory of lesson programs. Files longer than 4 or 8 KiB fail here, as on a full disk. Speaks TAP.
set -u
programs=$1
. "$(dirname "$0")/../tools/tap.sh"
unset GRADUS_LANG LC_ALL LC_MESSAGES LANG NO_COLOR

for lesson in 07_bottleneck 09_bahdanau; do
  # The output goes through a pipe, which has no length.
  { (ulimit -f 8 && "$programs/$lesson/$lesson" --plain --steps 1 --out "$work/out"); echo "exit code $?"; } 2>&1 | cat >"$work/text"
  check "full disk: $lesson: the targets are shown" grep -q '^target .* want ' "$work/text"
  check "full disk: $lesson: then the file that is missing is named" sh -c "sed '1,/^target .* want /d' '$work/text' | grep -q '^error: cannot write .*/$lesson/.*: File too large'"
  check "full disk: $lesson: exits with 1" grep -qx 'exit code 1' "$work/text"
done
finish
