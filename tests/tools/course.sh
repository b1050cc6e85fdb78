# shellcheck shell=sh
# A course to try the runner in, and what is asked of it: sourced by exercises.sh and learner.sh, which both are called
# with ROOT BUILD RUNNER.
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
