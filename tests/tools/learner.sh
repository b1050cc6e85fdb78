#!/bin/sh
# The course as somebody lives in it: sh learner.sh ROOT BUILD RUNNER. A learner's way through lesson 09, of which nothing
# is ever lost; a teacher's folder of submissions; two terminals at once, and checks that are killed. Speaks TAP.
. "$(dirname "$0")/course.sh"

# A learner's way through lesson 09, and nothing of it is lost.
mine=$course/work/09_bahdanau/exercise.cpp
check 'check before start: exit code 2' exits 2 gradus check 09
check 'run --mine before start: exit code 2' exits 2 gradus run 09 --mine
check 'run --mine before start says what to do' says 'first: ./gradus start 09' gradus run 09 --mine
check 'the solution is not shown before' exits 1 gradus solution 09
check 'start' says 'Your exercise: work/09_bahdanau/exercise.cpp' gradus start 09
check 'the starter was copied' cmp "$mine" "$root/lessons/09_bahdanau/exercise.cpp"
check 'check: not yet' exits 1 gradus check
check 'watch shows the verdict' says 'NOT_WRITTEN' gradus watch
check 'hint: for what the check found' says 'additive_keys, hints 1 of 3' gradus hint
check 'hint: one more' says 'additive_keys, hints 2 of 3' gradus hint 09
check 'hint: for another place' says 'decoder_step, hints 1 of 3' gradus hint 09 decoder_step
check 'hint: how to get the others' says './gradus hint 09 additive_keys' gradus hint 09 decoder_step
check 'hint: places are paths that exist' says 'lessons/09_bahdanau/README.md#' gradus hint 09 decoder_step
check 'hint: after the last, the solution' says './gradus solution 09 --i-give-up' gradus hint 09 additive_score --all
check 'hint: a mistyped place' says 'did you mean additive_score?' gradus hint 09 additive_scor
check 'hint: a mistyped place is misuse' exits 2 gradus hint 09 additive_scor
# What breaks off or does not compile names a line: the hints are those of the function around it.
hint_after() {
  sed "$1" "$root/lessons/09_bahdanau/solution.cpp" >"$mine"
  gradus check 09 >/dev/null
  says "$2" gradus hint 09
}
check 'hint: after a compile error' hint_after 's/tanh(q_everywhere/tahn(q_everywhere/' 'additive_score, hints'
check 'hint: after a crash' hint_after 's/^  const Var q = /  *(volatile int*)nullptr = 3;\n&/' 'additive_score, hints'
check 'hint: after a missing function' hint_after 's/^Var additive_score/Var additive_scores/' 'additive_score, hints'
check 'hint: where no function is known' hint_after 's|^// Lesson.*|#include "no_such_file.h"|' 'names no function'
# watch, its keys through a pipe. watching STEPS TEXT: does the steps, ends the input, and TEXT was shown.
watching() {
  mkfifo "$work/keys"
  gradus_watch <"$work/keys" >"$work/out" 2>&1 &
  watcher=$!
  exec 3>"$work/keys"
  "$1"
  exec 3>&-
  wait "$watcher"
  watched=$?
  rm "$work/keys"
  { [ -z "$2" ] || grep -qF -e "$2" "$work/out"; } && [ "$watched" = 0 ] || { echo "exit code $watched"; cat "$work/out"; return 1; }
}
gradus_watch() { exec timeout -s KILL "$patience" "$runner" --root "$course" --build "$build" watch 09; }
appears() {  # TEXT: within 20 s
  for i in $(seq 200); do grep -qF -e "$1" "$work/out" && return 0; sleep 0.1; done
  return 1
}
loops() { cp "$root/tests/fixtures/exercises/endless_loop.cpp" "$mine"; }
key() { printf '%s' "$1" >&3; }
patience=60
quits() { sleep 2; key q; }
saves() { sleep 2; cp "$root/lessons/09_bahdanau/exercise.cpp" "$mine"; appears NOT_WRITTEN; }
asks() { sleep 2; key l; appears 'bahdanau'; key n; appears 'not passed yet'; key q; }
deletes() { appears NOT_WRITTEN; rm "$mine"; appears 'is gone'; cp "$root/lessons/09_bahdanau/solution.cpp" "$mine"; appears 'Lesson 09 passed'; }
sooner() { began=$(date +%s); "$@" && [ $(($(date +%s) - began)) -le 6 ]; }
loops
check 'watch: q ends a running check' sooner watching quits ''
check 'watch: a save ends a running check, and the new text is looked at' sooner watching saves NOT_WRITTEN
loops
check 'watch: keys answer during a check' sooner watching asks 'not passed yet'
check 'watch: the list is short' sh -c "! grep -q 'What you write' '$work/out'"
cp "$root/lessons/09_bahdanau/exercise.cpp" "$mine"
check 'watch: a deleted file, and its return' watching deletes 'work/09_bahdanau/exercise.cpp is gone: ./gradus start 09'
check 'watch: what passed is kept' cmp "$root/lessons/09_bahdanau/solution.cpp" "$course/work/09_bahdanau/exercise.passed.cpp"
cp "$root/lessons/09_bahdanau/exercise.cpp" "$mine"
echo '// mine' >>"$mine"
check 'start again overwrites nothing' says 'stays as it is' gradus start 09
check 'what was written is there' grep -q '// mine' "$mine"
# A file that is changed while it is checked: it does so itself.
{ cat "$root/lessons/09_bahdanau/solution.cpp"
  printf '#include <fstream>\nstatic const bool changed = bool(std::ofstream("%s", std::ios::app) << "// later\\n");\n' "$mine"; } >"$mine"
kept_as_checked() {
  gradus check >/dev/null && grep -qx '// later' "$mine" && ! grep -qx '// later' "$(dirname "$mine")/exercise.passed.cpp"
}
check 'what is kept as passed is the text that was checked' kept_as_checked
cp "$root/lessons/09_bahdanau/solution.cpp" "$mine"
check 'check: passed' exits 0 gradus check
check 'the state says so' grep -q '^state = passed' "$course/work/state.txt"
check 'run --mine trains with it' says 'decoder_step: yours' gradus run 09 --mine --steps 1
check 'run --mine: after few steps a miss is not the code'"'"'s' grep -q "targets are those of the lesson's own number of steps" "$work/out"
cp "$root/lessons/09_bahdanau/exercise.cpp" "$mine"
gradus check >"$work/out"
cp "$root/lessons/09_bahdanau/solution.cpp" "$mine"
not_blamed() { gradus run 09 --mine --steps 1 >"$work/out" && ! grep -q 'has not passed' "$work/out"; }
check 'run --mine: the text that passed has passed, whatever was checked later' not_blamed
same_next() { next=$(gradus check 09 | sed -n 's/^  next *//p') && [ -n "$next" ] && gradus | grep -qF "$next,"; }
check 'check and ./gradus name one next exercise' same_next
check 'its results stand beside those of the library' test -s "$course/out/mine/09_bahdanau/metrics.json"
check 'the solution is shown after' says 'additive_score' gradus solution 09
check 'hints can be read after passing' says 'hints' gradus hint 09
check 'hints fit 80 columns' sh -c "! '$runner' --root '$course' --build '$build' hint 09 decoder_step --all | grep -E '.{81}'"
check 'the list says so' says 'passed' gradus list
check 'reset' says 'exercise.backup1.cpp' gradus reset 09
mv "$mine" "$work/mine.cpp"
check 'start --variant says what is asked' sh -c \
  "'$runner' --root '$course' --build '$build' start 09 --variant 3 >'$work/out' && grep -q '^// variant 3' '$mine' && grep -q 'context comes first' '$mine'"
check 'reset keeps the variant' sh -c "'$runner' --root '$course' --build '$build' reset 09 && head -n 1 '$mine' | grep -qx '// variant 3'"
check 'start --variant: not any word' exits 2 gradus start 09 --variant many
mv "$work/mine.cpp" "$mine"
check 'reset keeps what was written' cmp "$root/lessons/09_bahdanau/solution.cpp" "$course/work/09_bahdanau/exercise.backup1.cpp"
check 'reset begins afresh' cmp "$mine" "$root/lessons/09_bahdanau/exercise.cpp"

# A teacher's folder: all found, each within its fence, and checks of the teacher's own.
class=$work/class
mkdir -p "$class/ann/09_bahdanau" "$class/bob" "$class/O'Hara, \"Jo\"/09_bahdanau" "$work/checks"
cp "$root/lessons/09_bahdanau/solution.cpp" "$class/ann/09_bahdanau/exercise.cpp"
cp "$root/lessons/09_bahdanau/mistakes/query_s_t.cpp" "$class/bob/09.cpp"
cp "$root/tests/fixtures/exercises/segmentation_fault.cpp" "$class/O'Hara, \"Jo\"/09_bahdanau/exercise.cpp"
: >"$work/neighbour.cpp"
echo 'not to be lost' >"$work/victim"
sed "s|PLACE|\"$work\"|" "$root/tests/fixtures/intruder.cpp" >"$class/zoe.cpp"
sed 's/{0.300089, 0.437498}/{0.300089, 0.5}/' "$root/lessons/09_bahdanau/check.cpp" >"$work/checks/09.cpp"
check 'grade' says 'grades.csv' gradus grade "$class" --lesson 09 --checks "$work/checks" --out "$work/grades"
in_table() { grep -qF -e "$1" "$work/grades/grades.csv" || { cat "$work/grades/grades.csv"; return 1; }; }
check 'grade: right work' in_table 'ann,09_bahdanau,0,course,PASSED,7,7,,'
check 'grade: the checks of the teacher' in_table 'ann,09_bahdanau,0,hidden,WRONG_NUMBERS,'
check 'grade: a mistake by its name' in_table 'bob,09_bahdanau,0,course,ATTN_QUERY_POST_STEP,'
# UndefinedBehaviorSanitizer sees the null pointer before the system does.
crash=CRASH
grep -q -e -fsanitize "$build/lessons/exercise.conf" && crash=MEMORY_ERROR
check 'grade: a crash, and a name with a comma' in_table '"O'"'"'Hara, ""Jo""",09_bahdanau,0,course,'"$crash,"
fence() {
  grep -q LOOKED "$work/grades/grades.json" || { cat "$work/grades/grades.json"; return 1; }
  ! grep -qE "READ|WROTE|CONNECTED|CUT|CHANGED" "$work/grades/grades.json" && [ -s "$work/victim" ] && [ ! -e "$work/mark" ] && ! pgrep -f 'sleep 31.4159' >/dev/null
}
if grep -q '"network": true' "$work/grades/grades.json" && grep -q '"files": true' "$work/grades/grades.json"; then
  check 'grade: no network, no files, nothing left behind' fence
else
  skip 'grade: no network, no files, nothing left behind' 'this system has no namespaces or no Landlock'
fi
check 'grade: a directory without submissions' exits 2 gradus grade "$work/checks"
check 'grade: no directory' exits 2 gradus grade "$work/none"

unwritable_state() {
  mv "$course/work/state.txt" "$work/state.txt" && mkdir "$course/work/state.txt"
  gradus check 09 >"$work/out" 2>&1
  rmdir "$course/work/state.txt" && mv "$work/state.txt" "$course/work/state.txt"
  grep -q NOT_WRITTEN "$work/out" || { cat "$work/out"; return 1; }
}
check 'a state that cannot be kept does not cost the verdict' unwritable_state

# Two terminals at once, and a check that is killed.
at_once() {
  for i in 1 2 3 4; do gradus hint 09 decoder_step >/dev/null & gradus check 09 >/dev/null & done
  wait
  grep -q '^hints = .*decoder_step 3' "$course/work/state.txt" && grep -q '^verdict = NOT_WRITTEN' "$course/work/state.txt"
}
check 'two terminals at once' at_once
killed() {
  for i in 1 2 3 4 5 6 7 8; do
    gradus check 09 >/dev/null 2>&1 &
    sleep "0.0$i"
    kill -9 $!
    wait $! 2>/dev/null
    grep -q '^state = passed' "$course/work/state.txt" || return 1
    cmp "$mine" "$root/lessons/09_bahdanau/exercise.cpp" || return 1
  done
  exits 1 gradus check 09
}
check 'kill -9 loses nothing' killed
finish
