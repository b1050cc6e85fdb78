#!/bin/sh
# Every exercise as a learner meets it: sh exercises.sh ROOT BUILD RUNNER. The starter compiles and fails, the solution
# passes, each file in mistakes/ gets the verdict that its first line names; files that loop, crash or cheat end in one
# message. Speaks TAP.
. "$(dirname "$0")/course.sh"

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
solution_passes() {
  gradus check "$1" --json --solution >"$work/json" && grep -q '^  "verdict": "PASSED"' "$work/json" &&
    grep -qF "\"file\": \"$course/lessons/${2#"$root/lessons/"}\"" "$work/json" || { cat "$work/json"; return 1; }
}
# The build once more, its precompiled headers with all of the standard library: compiling that for each lesson anew takes
# five times as long as the lesson. There is nothing to build in it.
all_of_std=$work/all_of_std
make_all_of_std() {
  mkdir -p "$all_of_std/lessons" && ln -s "$build"/lessons/* "$all_of_std/lessons" || return 1
  made=$(cd "$build/lessons" && ls exercise_headers.h.*ch)
  headers=$all_of_std/lessons/exercise_headers.h
  rm "$headers" "$all_of_std/lessons/$made"
  { cat "$build/lessons/exercise_headers.h" && echo '#include <bits/stdc++.h>'; } >"$headers"
  for directory in "$root"/lessons/[0-9]*; do echo "build exercise_$(basename "$directory"): phony"; done >"$all_of_std/build.ninja"
  {
    sed '/^\[link\]/,$d; /^[#[]/d; /^$/d' "$build/lessons/exercise.conf"
    printf '%s\n' -x c++-header -w "$headers" -o "$all_of_std/lessons/$made"
  } | tr '\n' '\0' | CCACHE_DISABLE=1 xargs -0 env
}
solution_passes_with_std() {
  { printf '#include <bits/stdc++.h>\nusing namespace std;\n' && cat "$2"; } >"$work/std.cpp"
  (build=$all_of_std && verdict_is "$work/std.cpp" "$1" 0 PASSED '')
}
small() {  # FILE LESSON LANGUAGE [OPTION]: at most 30 lines of at most 80 columns, no escape codes
  gradus --lang "$3" check "$2" --file "$1" ${4:+"$4"} >"$work/text" 2>&1
  [ "$(wc -l <"$work/text")" -le 30 ] && ! grep -q "$(printf '\033')" "$work/text" || { cat "$work/text"; return 1; }
  [ "$3" != en ] || ! grep -qE '^.{81}' "$work/text" || { cat "$work/text"; return 1; }
}

make_all_of_std || exit 1
for directory in "$root"/lessons/[0-9]*; do
  lesson=$(basename "$directory")
  [ -f "$directory/check.cpp" ] || continue
  short=${lesson%%_*}
  for file in exercise.h exercise.cpp solution.cpp hints.md hints.zh.md; do
    check "$lesson has $file" test -s "$directory/$file"
  done
  check "$lesson: the starter compiles and fails" fails_for_good_reason "$directory/exercise.cpp" "$short"
  check "$lesson: the solution passes, checked with --solution" solution_passes "$short" "$directory/solution.cpp"
  check "$lesson: the solution passes with all of std in sight" solution_passes_with_std "$short" "$directory/solution.cpp"
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
  cp "$work/json" "$work/$(basename "$file" .cpp).json"
done
for file in missing_brace throws function_missing; do
  for lang in en zh; do
    check "$file: a small message ($lang)" small "$root/tests/fixtures/exercises/$file.cpp" 09 "$lang"
  done
done

# What was said of them, from the same runs.
explained() { grep -qF -e "$2" "$work/$1.json" || { cat "$work/$1.json"; return 1; }; }
check 'forged records count for nothing' explained forges_records '"parts_passed": 1,'
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

finish
