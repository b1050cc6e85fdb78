#!/bin/sh
# Every exercise as a learner meets it: sh exercises.sh ROOT BUILD RUNNER. The starter compiles and fails, the solution
# passes, each file in mistakes/ gets the verdict that its first line names; files that loop, crash or cheat end in one
# message; what a learner has written is never lost. Speaks TAP.
set -u
root=$1
build=$2
runner=$3
. "$(dirname "$0")/tap.sh"
unset LC_ALL LC_MESSAGES LANG NO_COLOR
export GRADUS_LANG=en

# A course of its own around the real lessons, so that work/ is not the user's.
course=$work/course
mkdir "$course"
ln -s "$root/lessons" "$course/lessons"
ln -s "$root/docs" "$course/docs"
gradus() { "$runner" --root "$course" --build "$build" "$@" </dev/null; }

# verdict_is FILE LESSON EXIT_CODE VERDICT WHERE [OPTION]: `check --file` says so, in one small message.
verdict_is() {
  gradus check "$2" --json --file "$1" ${6:+"$6"} >"$work/json"
  code=$?
  got=$(sed -n 's/^  "verdict": "\(.*\)",*$/\1/p' "$work/json")
  [ "$code" = "$3" ] && [ "$got" = "$4" ] || { echo "exit code $code, verdict $got"; cat "$work/json"; return 1; }
  [ -z "$5" ] || grep -qF "$5\"" "$work/json" || { cat "$work/json"; return 1; }
}
fails_for_good_reason() {
  gradus check "$2" --json --file "$1" >"$work/json" && return 1
  ! grep -qE '^  "verdict": "(COMPILE_ERROR|LINK_ERROR|CRASH|MISSING_FUNCTION|EXCEPTION)"' "$work/json" || { cat "$work/json"; return 1; }
}
small() {  # FILE LESSON LANGUAGE [OPTION]: at most 30 lines of at most 80 columns, no escape codes
  gradus --lang "$3" check "$2" --file "$1" ${4:+"$4"} >"$work/text" 2>&1
  [ "$(wc -l <"$work/text")" -le 30 ] && ! grep -q "$(printf '\033')" "$work/text" || { cat "$work/text"; return 1; }
  [ "$3" != en ] || ! grep -qE '^.{81}' "$work/text" || { cat "$work/text"; return 1; }
}

exits() {
  want=$1
  shift
  "$@" >"$work/out" 2>&1
  [ $? = "$want" ] || { cat "$work/out"; return 1; }
}
says() {
  text=$1
  shift
  "$@" >"$work/out" 2>&1
  grep -qF -e "$text" "$work/out" || { cat "$work/out"; return 1; }
}

for directory in "$root"/lessons/[0-9]*; do
  lesson=$(basename "$directory")
  [ -f "$directory/check.cpp" ] || continue
  short=${lesson%%_*}
  for file in exercise.h exercise.cpp solution.cpp hints.md hints.zh.md; do
    check "$lesson has $file" test -s "$directory/$file"
  done
  check "$lesson: the starter compiles and fails" fails_for_good_reason "$directory/exercise.cpp" "$short"
  check "$lesson: the solution passes" verdict_is "$directory/solution.cpp" "$short" 0 PASSED ''
  check "$lesson: --solution checks it" gradus check "$short" --solution
  { printf '#include <bits/stdc++.h>\nusing namespace std;\n' && cat "$directory/solution.cpp"; } >"$work/std.cpp"
  check "$lesson: the solution passes with all of std in sight" verdict_is "$work/std.cpp" "$short" 0 PASSED ''
  if [ -f "$directory/mine_parts.cpp" ]; then
    mkdir -p "$course/work/$lesson"
    cp "$directory/solution.cpp" "$course/work/$lesson/exercise.cpp"
    check "$lesson: run --mine works with the solution" says yours gradus run "$short" --mine --steps 1
    rm -r "$course/work/$lesson"
  fi
  mistakes=0
  for file in "$directory"/mistakes/*.cpp; do
    verdict=$(sed -n '1s|^// \([A-Z_]*\):.*|\1|p' "$file")
    check "$lesson: $(basename "$file") gets $verdict" verdict_is "$file" "$short" 1 "$verdict" ''
    mistakes=$((mistakes + 1))
  done
  check "$lesson: at least 4 mistakes" test "$mistakes" -ge 4
  check "$lesson: starter, report in 30 lines" small "$directory/exercise.cpp" "$short" en
  for place in $(sed -n 's/^## //p' "$directory/hints.md"); do
    check "$lesson: three hints for $place, in both languages" sh -c \
      "test \$(sed -n '/^## $place\$/,/^## [^$place]/p' '$directory/hints.md' | grep -c '^[123]\\. ') -ge 3 &&
       grep -qx '## $place' '$directory/hints.zh.md' && grep -qw '$place' '$directory/exercise.h'"
  done
done

check 'lesson 11: the starter is not written yet' verdict_is "$root/lessons/11_conventions/exercise.cpp" 11 1 NOT_WRITTEN ''

# Variants: the file's first line says which, and the check follows it.
asked_for() {
  { echo "// variant $1" && sed "$2" "$root/lessons/09_bahdanau/solution.cpp"; } >"$work/variant.cpp"
  verdict_is "$work/variant.cpp" 09 "$3" "$4" ''
}
sigmoid='s/tanh(q_everywhere/sigmoid(q_everywhere/' order='s/concat({y_emb, context}/concat({context, y_emb}/' half='s|v_a, Axis{2});|v_a, Axis{2}) / 2;|'
check 'variant 1 done as asked passes' asked_for 1 "$order" 0 PASSED
check 'variant 2 done as asked passes' asked_for 2 "$sigmoid" 0 PASSED
check 'variant 7 done as asked passes' asked_for 7 "$order;$sigmoid;$half" 0 PASSED
check 'variant 8 has other sizes only' asked_for 8 '' 0 PASSED
check 'variant 3 done as in the paper is refused' asked_for 3 '' 1 WRONG_NUMBERS

# Lesson N builds without the later lessons: nothing that its targets are made of belongs to one.
no_later() {
  ninja -C "$build" -t inputs "lessons/$1/$1" "exercise_$1" >"$work/inputs" 2>/dev/null
  # Where several sources are compiled as one, a file that meson has written names them.
  (cd "$build" && grep -e '-unity[0-9]*\.cpp$' "$work/inputs" | xargs -r cat) >"$work/joined"
  cat "$work/joined" >>"$work/inputs"
  for directory in "$root"/lessons/[0-9]*; do
    later=$(basename "$directory")
    [ "${later%%_*}" -gt "${1%%_*}" ] || continue
    ! grep -F "lessons/$later/" "$work/inputs" || return 1
  done
  ! grep -rhoE '#include "lessons/[0-9]+_[a-z_]+' "$root/lessons/$1" | sed 's|.*lessons/||' | sort -u |
    awk -v own="$1" '{ if (substr($0, 1, 2) + 0 > substr(own, 1, 2) + 0) { print; bad = 1 } } END { exit !bad }'
}
for directory in "$root"/lessons/[0-9]*; do
  lesson=$(basename "$directory")
  check "$lesson builds without later lessons" no_later "$lesson"
done

# The course notes, item by item.
for note in '0 42' '1 34' '3 22'; do
  check "notes ${note% *}: all ${note#* } items" sh -c \
    "'$runner' --root '$course' --build '$build' notes ${note% *} | tail -n 1 | grep -qF 'of ${note#* } items'"
done
map_commands() {
  sed -n 's/^| N.*| \(\.\/gradus byhand .*\) |$/\1/p' "$root/docs/notes-map.md" | sed "s|^./gradus|'$runner'|" >"$work/commands"
  [ -s "$work/commands" ] && sh -e "$work/commands"
}
check 'notes: every byhand of the map runs' map_commands

# Files that go wrong in other ways. First line: "// VERDICT EXIT_CODE [:LINE] [OPTION]: what it does".
for file in "$root"/tests/fixtures/exercises/*.cpp; do
  case $(grep -c -e -fsanitize "$build/lessons/exercise.conf"),$file in
    0,*) ;;
    *segmentation* | *endless_memory* | *endless_recursion*)
      skip "$(basename "$file")" 'under sanitizers it ends in another way'
      continue ;;
  esac
  head=$(sed -n '1s|^// \([^ ]* [0-9][^a-z]*[-a-z]*\): .*|\1|p' "$file")
  # shellcheck disable=SC2086  # words of the head
  set -- $head
  line= option=
  for word in "$@"; do case $word in :*) line=$word ;; --*) option=$word ;; esac; done
  # shellcheck disable=SC2086
  check "$(basename "$file"): $1" verdict_is "$file" 09 "$2" "$1" "$line" $option
done
for file in missing_brace throws function_missing; do
  for lang in en zh; do
    check "$file: a small message ($lang)" small "$root/tests/fixtures/exercises/$file.cpp" 09 "$lang"
  done
done

check 'forged records count for nothing' says '"parts_passed": 1,' gradus check 09 --json --file "$root/tests/fixtures/exercises/forges_records.cpp"

explained() { says "$2" gradus check 09 --file "$root/tests/fixtures/exercises/$1.cpp"; }
check 'a missing brace is explained' explained missing_brace 'a { has no } of its own'
check 'an axis without its name is explained' explained axis_as_a_number 'an axis is written Axis{1}'
check 'a full-width semicolon is explained' explained full_width_semicolon 'from a Chinese keyboard'
check 'a missing return is explained' explained no_return 'every way through it must end in'
check 'a compiler that gives up is explained' explained too_large 'the compiler gave up'
check 'a number that is none is said to be so' explained gives_nan 'is not finite'
check 'what is compared is said in Chinese' says '应得      分数加 1000 或 -1000 之后的权重[0] = ' \
  gradus --lang zh check 04 --file "$root/lessons/04_softmax/mistakes/no_maximum.cpp"
check 'what is printed is shown' says 'H has rank 3' gradus check 09 --file "$root/tests/fixtures/exercises/prints.cpp"

# What cannot be checked at all: exit code 2, and one line.
nothing() {
  gradus check 09 --file "$1" >"$work/out" 2>"$work/err"
  [ $? = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qF "$2" "$work/err" || { cat "$work/out" "$work/err"; return 1; }
}
head -c 4096 "$runner" >"$work/binary.cpp"
: >"$work/empty.cpp"
check 'a missing file' nothing "$work/none.cpp" 'there is no file'
check 'a directory' nothing "$work" 'is a directory'
check 'a binary file' nothing "$work/binary.cpp" 'binary file'
printf '\377\376i\0n\0t\0' >"$work/utf16.cpp"
check 'a file in UTF-16' nothing "$work/utf16.cpp" 'is saved as UTF-16: save it as UTF-8'
for name in x x.txt x.bak x.h; do
  cp "$root/lessons/09_bahdanau/solution.cpp" "$work/$name"
  check "a right file that is called $name" verdict_is "$work/$name" 09 0 PASSED ''
done
check 'an empty file' nothing "$work/empty.cpp" 'is empty'
check 'a device' nothing /dev/zero 'is no ordinary file'

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
