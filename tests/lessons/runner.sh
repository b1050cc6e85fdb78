#!/bin/sh
# The course runner from outside: sh runner.sh GRADUS_RUNNER. A scratch course stands in for the real one; its
# "compiler" is cp and its lessons are shell scripts, so that nothing is compiled. Speaks TAP.
set -u
runner=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
unset GRADUS_LANG LC_ALL LC_MESSAGES LANG NO_COLOR
root=$scratch/course
count=0

# check NAME EXIT_CODE PART_OF_STDOUT PART_OF_STDERR ARGUMENTS...: an empty part: nothing may be printed there.
check() {
  name=$1 code=$2 out=$3 err=$4
  shift 4
  [ -n "${remember:-}" ] || rm -f "$root/work/state.txt"
  "$runner" --root "$root" --build "$root/build" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  got=$?
  count=$((count + 1))
  result=ok
  [ "$got" = "$code" ] || result='not ok'
  contains "$scratch/out" "$out" || result='not ok'
  contains "$scratch/err" "$err" || result='not ok'
  ! grep -q "$(printf '\033')" "$scratch/out" "$scratch/err" || result='not ok'
  report "$result" "$name" "exit code $got"
}
contains() {
  if [ -z "$2" ]; then [ ! -s "$1" ]; else grep -qF -e "$2" "$1"; fi
}
report() {
  echo "$1 $count - runner: $2"
  [ "$1" = ok ] && return
  echo "FAILED runner: $2: $3" >&2
  cat "$scratch/out" "$scratch/err" >&2
}
# holds NAME COMMAND...: the command succeeds.
holds() {
  name=$1
  shift
  count=$((count + 1))
  if "$@"; then report ok "$name" ''; else report 'not ok' "$name" "$*"; fi
}

lesson() {  # ID, and what its program does
  mkdir -p "$root/lessons/$1"
  echo '// a lesson' >"$root/lessons/$1/lesson.cpp"
  printf '#!/bin/sh\n%s\n' "$2" >"$root/lessons/$1/program.sh"
  chmod +x "$root/lessons/$1/program.sh"
  echo "build lessons/$1/$1: copy ../lessons/$1/program.sh" >>"$root/build/build.ninja"
}
mkdir -p "$root/build" "$root/lessons/common" "$root/lessons/12_no_source"
printf 'rule copy\n  command = cp $in $out\n' >"$root/build/build.ninja"
lesson 08_scores 'echo "scores $*"
for word in "$@"; do
  case $word in --out=*)
    mkdir -p "${word#--out=}/08_scores"
    echo "{\"targets\": [{\"met\": true}, {\"met\": false}]}" >"${word#--out=}/08_scores/metrics.json" ;;
  esac
done'
lesson 09_bahdanau 'for word in "$@"; do echo "<$word>"; done'
lesson 10_luong 'echo luong; exit 3'
lesson 11_crash 'kill -SEGV $$'
printf '# Lesson 09: Additive attention\n\nTakes 60 minutes.\n' >"$root/lessons/09_bahdanau/README.md"
printf '# 第 09 课：加性注意力\n' >"$root/lessons/09_bahdanau/README.zh.md"

check 'no command: where you are, and what is next' 0 './gradus help' ''
check '--help' 0 'run LESSON' '' --help
check 'help' 0 'lint' '' help
check 'help of a command' 0 'usage: ./gradus run LESSON' '' help run
check 'help of a command of the script' 0 './gradus test: build and run all tests' '' help test
check 'help of an unknown command' 2 '' 'did you mean run?' help rnu
check 'a command that the script does' 2 '' 'is done by the script' test
check '--version' 0 'gradus ' '' --version
check 'help in Chinese' 0 '用法' '' --lang zh help
remember=1
check 'the language is remembered' 0 '用法' '' help
check 'and changed' 0 'usage' '' help --lang en
check 'and stays changed' 0 'usage' '' help
remember=
check 'help in the language of the environment is English here' 0 'usage' '' help
check 'run --help' 0 '--seeds S,S,...' '' run --help
check 'try --help' 0 'usage: ./gradus try LESSON INPUT...' '' try --help
check 'list --help' 0 'usage: ./gradus list' '' list --help
check 'byhand: the weights of note 1' 0 'alpha = (0.4452, 0.5548)' '' byhand dot --query .8,-.2,.5 --keys '.1,.9,.3;.7,.2,-.5'
check 'byhand: its context' 0 'c     = (0.4329, 0.5117, -0.1438)' '' byhand dot --query .8,-.2,.5 --keys '.1,.9,.3;.7,.2,-.5'
check 'byhand: cosine' 0 'alpha = (0.4347, 0.5653)' '' byhand cosine --query .8,-.2,.5 --keys '.1,.9,.3;.7,.2,-.5'
check 'byhand: additive, lesson 09' 0 'alpha = (0.4696, 0.3452, 0.1852)' '' byhand additive --query .5,-.4 --keys '1,0;0,1;-1,.5' \
  --W_a '.6,-.2;.1,.7' --U_a '.3,.5;-.4,.2' --v_a 1,-.8
check 'byhand: general' 0 'query W_a = (7.0000, 10.0000)' '' byhand general --query 1,2 --keys '1,0;0,1' --W_a '1,2;3,4'
check 'byhand: temperature' 0 'alpha = (0.3917, 0.6083)' '' byhand dot --temperature .5 --query .8,-.2,.5 --keys '.1,.9,.3;.7,.2,-.5'
check 'byhand: scores of 0 give 1/3' 0 'alpha = (0.3333, 0.3333, 0.3333)' '' byhand dot --query 0,0 --keys '1,0;0,1;1,1'
check 'byhand: a query that begins with a minus' 0 'alpha = ' '' byhand dot --query=-1,0 --keys '1,2;3,4'
check 'byhand: no number' 2 '' "'x' is no number" byhand dot --query 1,x --keys 1,2
check 'byhand: rows of two lengths' 2 '' 'every row must have as many numbers' byhand dot --query 1,0 --keys '1,2;3'
check 'byhand: a matrix that does not fit' 2 '' 'needs (2, 2), found (1, 3)' byhand general --query 1,2 --keys '1,2;3,4' --W_a 1,2,3
check 'byhand: no direction' 2 '' 'has no direction' byhand cosine --query 0,0 --keys 1,2
check 'byhand: additive without its matrices' 2 '' 'additive needs --W_a' byhand additive --query 1,0 --keys '1,2;3,4'
check 'byhand: general without its matrix' 2 '' 'general needs --W_a' byhand general --query 1,0 --keys '1,2;3,4'
check 'byhand: an empty query' 2 '' '--query: there is no number' byhand dot --query '' --keys '1,2;3,4'
check 'byhand: a matrix that the score has no use for' 2 '' 'dot has no --W_a' byhand dot --query 1,0 --keys '1,2' --W_a '1,2;3,4'
check 'byhand: a quotient is written as one' 0 'e_1 = (-1 x 0.2 + 0 x 1) / 1.4142 = -0.2000 / 1.4142 = -0.1414' '' byhand scaled \
  --query=-1,0 --keys '.2,1'
check 'byhand: a negative maximum' 0 'exp(e_i - (-0.1414))' '' byhand scaled --query=-1,0 --keys '.2,1'
check 'byhand: an unknown score' 2 '' "no score 'dott'" byhand dott --query 1 --keys 1
check 'unknown command' 2 '' "no command 'rnu'; did you mean run?" rnu 09
check 'a lesson in place of a command' 2 '' "to train it: ./gradus run 09" 09
check 'an option in place of a command' 2 '' "no option '--frob'" --frob
check 'list: number, name, title, minutes' 0 '09 bahdanau  Additive attention       60' '' list
check 'list in Chinese' 0 '加性注意力' '' list --lang zh
check 'list leaves out what has no lesson.cpp' 0 '08 scores' '' list
holds 'really' sh -c "! grep -q no_source '$scratch/out'"
check 'run by number' 0 '<--lang=en>' '' run 9
check 'the output directory is that of the checkout' 0 "<--out=$root/out>" '' run 09
check 'run by the beginning of the name, options in any place' 0 '<--steps=5>' '' run --steps 5 bah --plain
check 'the language before the command counts' 0 '<--lang=zh>' '' --lang zh run 09
check 'exit codes are handed through' 3 'luong' '' run luong
check 'an unknown lesson' 2 '' "no lesson 'bahdanu'; did you mean 09_bahdanau?" run bahdanu
check 'an unknown number' 2 '' "no lesson '77'; ./gradus list" run 77
printf '| 77 Tomorrow | what comes | coming |\n' >"$root/README.md"
check 'a lesson that is not written yet' 2 '' 'lesson 77 (Tomorrow) is not written yet; ready are 08, 09, 10, 11' start 77
check 'and by its name' 2 '' 'lesson 77 (Tomorrow) is not written yet' run tomorrow
on_terminal() {  # in 60 columns, words whole
  SHELL=/bin/sh script -qec "stty cols 60; '$runner' --root '$root' --build '$root/build' $1" /dev/null </dev/null |
    tr -d '\r' >"$scratch/out"
  ! grep -E '.{61}' "$scratch/out" && grep -qE 'written yet;$|written yet; ready$|written yet; ready are$' "$scratch/out"
}
if command -v script >/dev/null; then holds 'a message on a terminal is broken between words' on_terminal 'start 77'; fi
check 'help of a word like no command' 2 '' "no command 'nonsense'; ./gradus help shows them all" help nonsense
mkdir -p "$root/work" && printf 'lang = zh\nnonsense\n' >"$root/work/state.txt"
remember=1
check 'a damaged state is told' 0 '用法' 'work/state.txt was damaged; it is kept as work/state.txt.damaged' help
holds 'and kept' grep -q nonsense "$root/work/state.txt.damaged"
check 'and told once' 0 '用法' '' help
remember=
check 'run without a lesson' 2 '' './gradus run: LESSON is missing; see ./gradus run --help' run
check 'run with a wrong value' 2 '' "--steps needs a whole number" run 09 --steps many
check 'try: input and words' 0 '<3 1 4>' '' try 09 3 1 4
check 'try: an input that looks like an option' 0 '<--x>' '' try 09 -- --x
check 'try without input' 2 '' 'INPUT is missing' try 09
check 'diagnose, where it cannot be built, says so' 2 '' 'gradus-diagnose was not built' diagnose dump
mkdir -p "$root/lessons/runner"
printf '#!/bin/sh\nfor word in "$@"; do echo "<$word>"; done\nexit 3\n' >"$root/lessons/runner/program.sh"
chmod +x "$root/lessons/runner/program.sh"
echo 'build lessons/runner/gradus-diagnose: copy ../lessons/runner/program.sh' >>"$root/build/build.ninja"
check 'diagnose is built when it is asked for, and its exit code handed through' 3 '<--json>' '' diagnose dump --json
remember=1
check 'diagnose: the language before the command counts' 3 '<--lang=zh>' '' --lang zh diagnose dump
check 'diagnose: and is remembered' 3 '<--lang=zh>' '' diagnose dump
remember=
check 'diagnose: --plain before the command counts' 3 '<--plain>' '' --plain diagnose dump
mkdir -p "$root/out/10_luong"
echo '{"targets": [{"met": true}]}' >"$root/out/10_luong/metrics.json"
touch -d yesterday "$root/out/10_luong/metrics.json"
check 'run all: every lesson, also after one that failed' 1 '11_crash' '' run all --steps 2
told() { grep -q "08_scores .* 1 of 2 *done" "$1" && grep -q "10_luong .* - *exit code 3" "$1" && grep -q "11_crash .* 139" "$1"; }
holds 'run all tells each result' told "$scratch/out"
lesson 10_lamport 'echo'
check 'a beginning of two names' 2 '' "'l' may be 10_lamport, 10_luong" run l
holds 'building takes the lock of the script' test -e "$root/build/gradus_lock"

parts='part1 part2 part3 part4 part5 part6 part7 part8 part9 part10'
lesson 20_large 'echo large'
sed -i "\$s/\$/ | $parts/" "$root/build/build.ninja"
for part in $parts; do echo "build $part: copy ../lessons/20_large/program.sh" >>"$root/build/build.ninja"; done
check 'a long build is told before' 0 large 'building the library once: takes about a minute' run 20
check 'and only when there is one' 0 large '' run 20
rm -r "$root/lessons/20_large"

# A compiler whose disk is full: nothing is the learner's fault.
printf '#!/bin/sh\necho "fatal error: error writing to mine.s: No space left on device" >&2\nexit 1\n' >"$scratch/compiler"
chmod +x "$scratch/compiler"
printf '[compiler]\n%s\n' "$scratch/compiler" >"$root/build/lessons/exercise.conf"
echo 'build exercise_09_bahdanau: phony' >>"$root/build/build.ninja"
echo '// mine' >"$root/lessons/09_bahdanau/exercise.cpp"
check 'a full disk is not the learner'"'"'s mistake' 2 '' 'the disk is full' check 09 --file "$root/lessons/09_bahdanau/exercise.cpp"
rm "$root/lessons/09_bahdanau/exercise.cpp"

printf '#!/bin/sh\necho "<new program>"\n' >"$root/lessons/08_scores/program.sh"
touch -d '+5 seconds' "$root/lessons/08_scores/program.sh"
check 'a changed lesson is built again' 0 '<new program>' '' run 08
cat >>"$root/build/build.ninja" <<'TEXT'
rule fail
  command = echo "lesson.cpp:3:1: error: expected" >&2; exit 1
build lessons/13_broken/13_broken: fail ../lessons/08_scores/program.sh
TEXT
mkdir "$root/lessons/13_broken" && touch "$root/lessons/13_broken/lesson.cpp" "$root/lessons/12_no_source/lesson.cpp"
check 'a lesson that does not compile: the compiler speaks' 1 '' 'lesson.cpp:3:1: error: expected' run 13
check 'a lesson that ninja does not know' 1 '' '12_no_source was not built' run 12
check 'a checkout that is not set up' 1 '' 'is not set up; start ./gradus' --build "$scratch/none" run 09
env PATH=/nonexistent "$runner" --root "$root" --build "$root/build" run 9 2>"$scratch/err"
holds 'no ninja' grep -q 'ninja could not be started' "$scratch/err"

"$runner" --root "$root" --build "$root/build" help >&- 2>"$scratch/err"
holds 'closed output' test $? -eq 0
("$runner" --root "$root" --build "$root/build" list; echo $? >"$scratch/code") 2>"$scratch/err" | true
holds 'a broken pipe is quiet' test ! -s "$scratch/err"
"$runner" --root "$root" help >/dev/full 2>"$scratch/err"
holds 'a full disk is told' test $? -eq 1 -a -s "$scratch/err"
(cd "$root" && "$runner" --root "$root" --build build run 9 >"$scratch/out" 2>"$scratch/err")
holds 'from the checkout itself, the output directory is short' grep -q '<--out=out>' "$scratch/out"
env -i PATH="$PATH" "$runner" --root "$root" --build "$root/build" run 9 >"$scratch/out" 2>"$scratch/err"
holds 'no environment, no HOME' grep -q '<--lang=en>' "$scratch/out"
env LANG=zh_CN.UTF-8 "$runner" --root "$root" --build "$root/build" run 9 >"$scratch/out" 2>"$scratch/err"
holds 'a Chinese environment' grep -q '<--lang=zh>' "$scratch/out"
echo "1..$count"
