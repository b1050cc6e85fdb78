# shellcheck shell=sh
# For the scripts beside it, sourced by each: says in TAP what held. Temporary files go to $work and vanish at the end.
number=0
failures=0
work=$(mktemp -d "${TMPDIR:-/tmp}/gradus.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# check NAME COMMAND...: one case, ok when the command succeeds; else its output goes to stderr, which meson shows.
check() {
  name=$1
  shift
  number=$((number + 1))
  if "$@" >"$work/check.log" 2>&1; then
    echo "ok $number - $name"
  else
    echo "not ok $number - $name"
    {
      echo "FAILED $name"
      sed 's/^/  /' "$work/check.log"
    } >&2
    failures=$((failures + 1))
  fi
}

# skip NAME REASON: one case that cannot be tried on this machine.
skip() {
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}

# The plan, and the exit code.
finish() {
  echo "1..$number"
  exit $((failures > 0))
}
