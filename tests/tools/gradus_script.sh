#!/bin/sh
# Tries ./gradus on a small project in a directory with blanks and Chinese characters: no lesson has to be built for it.
# Usage: gradus_script.sh ROOT   TAP
set -eu
. "$(dirname "$0")/tap.sh"
root=$1
script=$root/gradus
unset GRADUS_PORTABLE GRADUS_CI CXX

tree="$work/路 径/my checkout"
mkdir -p "$tree/lessons/runner" "$tree/tests" "$work/home" "$work/bin"
cp "$script" "$tree/gradus"
cat >"$tree/meson.build" <<'TEXT'
project('small', 'cpp', default_options: ['cpp_std=c++20'])
subdir('lessons/runner')
cases = find_program('tests/cases.sh')
test('good', cases, args: 'good', protocol: 'tap')
test('bad', cases, args: 'bad', protocol: 'tap')
test('crash', cases, args: 'crash', protocol: 'tap')
test('early', cases, args: 'early', protocol: 'tap')
test('slow', cases, args: 'slow', protocol: 'tap', timeout: 1)
TEXT
echo "option('portable', type: 'boolean', value: false)" >"$tree/meson_options.txt"
cat >"$tree/lessons/runner/meson.build" <<'TEXT'
executable('gradus-runner', 'main.cpp')
TEXT
cat >"$tree/lessons/runner/main.cpp" <<'TEXT'
#include <cstdio>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("[%s]", argv[i]);
  return 7;
}
TEXT
cat >"$tree/tests/cases.sh" <<'TEXT'
#!/bin/sh
case $1 in
  good) printf 'ok 1 - a\nok 2 - b says "result": "FAIL"\nok 3 - c # SKIP not here\n1..3\n' ;;
  bad) printf 'ok 1 - a\nnot ok 2 - b\n# ok 3 - only a comment\n1..2\n'; exit 1 ;;
  crash) printf 'ok 1 - a\n'; kill -9 $$ ;;
  early) printf 'ok 1 - a\n' ;;
  slow) printf 'ok 1 - a\n'; sleep 30 ;;
esac
TEXT
chmod +x "$tree/tests/cases.sh"

path=$PATH
# gradus ARGUMENTS...: the small project's script, from another directory, with an empty home; code and output are kept.
gradus() {
  code=0
  (cd "$work/home" && HOME="$work/home" PATH="$path" "$tree/gradus" "$@") >"$work/out" 2>"$work/err" </dev/null || code=$?
}
# said CODE TEXT: the last call ended so and said so, on either stream.
said() {
  echo "code $code, wanted $1 and: $2"
  cat "$work/out" "$work/err"
  [ "$code" = "$1" ] && cat "$work/out" "$work/err" | grep -qF -- "$2"
}
last_line() { [ "$(tail -n 1 "$work/out")" = "$1" ]; }
quick() {
  start=$(date +%s%N)
  gradus list
  took=$((($(date +%s%N) - start) / 1000000))
  echo "$took ms"
  [ "$took" -lt 500 ]
}
quiet() { said 7 '[list]' && [ ! -s "$work/err" ]; }

gradus --help
check "gradus: --help shows the commands" said 0 'run LESSON'
gradus
check "gradus: without a word it shows the commands" said 0 'test [NAME...]'
check "gradus: and what comes first" said 0 'First: ./gradus run 09'
check "gradus: in 80 columns" sh -c "! grep -nE '.{81}' '$work/out'"
gradus tets
check "gradus: an unknown command is misuse" said 2 "there is no command 'tets'"
gradus test --sanitise
check "gradus: an unknown option of test is misuse" said 2 'no option --sanitise'
gradus test tensor numbers
check "gradus: the test that takes minutes is alone" said 2 'tested alone'
gradus format --chek
check "gradus: an unknown option of format is misuse" said 2 '--check'
check "gradus: nothing was built for all that" test ! -e "$tree/build"

gradus run 09 --yes 'a  b' '' --seed 3
check "gradus: sets up, builds and hands the words over unchanged" said 7 '[run][09][a  b][][--seed][3]'
check "gradus: says where the checkout and the build are" said 7 "[--root][$tree][--build][$tree/build]"
check "gradus: compile_commands.json stands where tools look for it" test -s "$tree/compile_commands.json"
check "gradus: a second start with nothing to do takes less than 0.5 s" quick
check "gradus: and says nothing of its own" quiet
gradus tets
check "gradus: once built, the runner answers to an unknown command" said 7 '[tets]'
# The names of the runner's table stand in the script too: it must know them before anything is built.
every_command() {
  sed -n 's/^ *{"\([a-z]*\)", "[^"]*",.*/\1/p' "$root/lessons/runner/commands.cpp" | grep -v help >"$work/names"
  [ "$(wc -l <"$work/names")" -ge 7 ] && while read -r word; do
    grep -qE "^  ([a-z| -]* \| )?$word( \||\))" "$script" || { echo "not in ./gradus: $word"; return 1; }
  done <"$work/names"
}
check "gradus: knows every command of the runner" every_command
gradus --lang zh list
check "gradus: options may stand before the command" said 7 '[--lang][zh][list]'
ln -s "$tree/gradus" "$work/bin/link"
ln -s ../bin/link "$work/home/link of link"
code=0
"$work/home/link of link" list >"$work/out" 2>"$work/err" || code=$?
check "gradus: works through links" said 7 "[--root][$tree]"

gradus test good
check "gradus test: counts cases, and what was skipped apart" said 0 '2 passed, 0 failed'
check "gradus test: the count is the last line" last_line '2 passed, 0 failed'
gradus test bad
check "gradus test: a failed case makes it fail" said 1 '1 passed, 1 failed'
gradus test crash
check "gradus test: a crash counts as a failed case" said 1 '1 passed, 1 failed'
gradus test early
check "gradus test: a binary that breaks off counts as a failed case" said 1 '1 passed, 1 failed'
gradus test nothing_of_the_kind
check "gradus test: an unknown name is an error that tells the names" said 1 'good bad crash early slow'
gradus test
check "gradus test: a binary out of time counts as a failed case" said 1 '6 passed, 4 failed'
gradus test --sanitize address,undefined good
check "gradus test --sanitize: builds beside, without a comma in the name" test -x "$tree/build-address-undefined/lessons/runner/gradus-runner"
check "gradus test --sanitize: runs the tests" last_line '2 passed, 0 failed'
export GRADUS_PORTABLE=1
gradus list
check "gradus: GRADUS_PORTABLE=1 sets up a portable build" said 7 'setting up'
gradus list
check "gradus: and keeps it" quiet
unset GRADUS_PORTABLE
check "gradus: nothing was written to the home directory" [ "$(ls -A "$work/home")" = 'link of link' ]

mv "$tree" "$work/moved"
tree=$work/moved
gradus list
check "gradus: works after the checkout was moved" said 7 "[--root][$tree]"

# A compiler that says it is an old one.
cat >"$work/bin/old-g++" <<'TEXT'
#!/bin/sh
case " $* " in
  *" -dM "*) c++ "$@" | sed -e 's/__GNUC__ .*/__GNUC__ 10/' -e 's/__clang_major__ .*/__clang_major__ 10/' ;;
  *) exec c++ "$@" ;;
esac
TEXT
chmod +x "$work/bin/old-g++"
code=0
CXX="$work/bin/old-g++" meson setup "$work/old" "$root" >"$work/out" 2>"$work/err" || code=$?
check "gradus: a compiler that is too old is named, and what to do" said 1 'is too old: Gradus needs g++ 12'

# As a user who may read it and write nothing; a checkout in /root nobody else may read.
nobody() { setpriv --reuid=65534 --clear-groups "$@"; }
mkdir "$work/readonly"
cp "$script" "$tree"/meson* "$work/readonly/"
chmod 755 "$work"
if [ "$(id -u)" = 0 ] && nobody test -r "$work/readonly/gradus" 2>/dev/null; then
  code=0
  nobody "$work/readonly/gradus" list >"$work/out" 2>"$work/err" || code=$?
  check "gradus: without write permission it says so" said 1 "cannot write to $work/readonly/build"
else
  skip "gradus: without write permission it says so" "needs root, and a checkout that others may read"
fi

gradus doctor
check "gradus: doctor finds a machine well" said 0 'All that is needed is here.'

# A machine on which much is missing: only the commands named here, and stand-ins that tell how they were called.
bare() {
  rm -rf "$work/bare" "$tree/build"
  mkdir "$work/bare"
  for tool in sh env cat ls dirname readlink mkdir rm uname; do ln -s "$(command -v "$tool")" "$work/bare/$tool"; done
}
stand_in() {
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bare/$1"
  chmod +x "$work/bare/$1"
}
path=$work/bare
installs="apt-get install --no-install-recommends g++ meson ninja-build pkg-config doctest-dev libfmt-dev libcli11-dev nlohmann-json3-dev"

bare
stand_in id 'echo 1000'
stand_in apt-get 'echo "apt-get $*"; exit 100'
stand_in sudo 'echo "sudo $*"; exec "$@"'
gradus run 09
check "gradus: without a terminal it prints the line and installs nothing" said 1 "  sudo $installs"
check "gradus: and says what to do" said 1 'add --yes'
gradus run 09 --yes
check "gradus: --yes calls sudo" said 1 'sudo env -u TMPDIR DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends g++'
check "gradus: says so when that fails" said 1 'apt-get failed'
rm "$work/bare/sudo"
gradus run 09 --yes
check "gradus: without sudo it says who can do it" said 1 'run that line as root'
stand_in id 'echo 0'
gradus run 09
check "gradus: root needs no question" said 1 'apt-get -qq install -y --no-install-recommends g++'
bare
for tool in sed awk df du cut head tr; do ln -s "$(command -v "$tool")" "$work/bare/$tool"; done
stand_in id 'echo 1000'
gradus doctor
check "gradus: doctor names what is missing" said 1 'packages: g++ meson ninja-build pkg-config doctest-dev'
check "gradus: doctor says how to repair it" said 1 'sudo apt-get install --no-install-recommends g++ meson'
check "gradus: doctor sets nothing up" test ! -e "$tree/build"
gradus doctor --lang zh
check "gradus: doctor in Chinese" said 1 '缺少'
for pair in 'dnf:sudo dnf install gcc-c++' 'pacman:sudo pacman -S --needed gcc' 'brew:brew install meson'; do
  bare
  stand_in id 'echo 1000'
  stand_in "${pair%%:*}" 'echo no; exit 1'
  gradus run 09 --yes
  check "gradus: with ${pair%%:*} it prints the line to type" said 1 "${pair#*:}"
done
finish
