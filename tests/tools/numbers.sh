#!/bin/sh
# Every number that a page quotes from training comes out again: the lessons are trained as the pages say, with what
# tests/tools/renew_numbers.sh does, and no page may change by it.
# Usage: numbers.sh ROOT BUILD EXACT LESSON...   BUILD has the lesson programs. EXACT is "exact" where processor and
# compiler round as those did that the pages were made with; elsewhere trained numbers differ in their last digits.
set -eu
. "$(dirname "$0")/tap.sh"
root=$1
build=$2
exact=$3
shift 3
tools=$root/tests/tools

(cd "$root" && find README*.md lessons/*/README*.md) >"$work/pages"
copy() { # TREE: the pages
  while read -r page; do
    mkdir -p "$1/$(dirname "$page")"
    cp "$root/$page" "$1/$page"
  done <"$work/pages"
}
come_out() { # LESSON
  copy "$work/tree"
  OUT=$work/out sh "$tools/renew_numbers.sh" "$work/tree" "$build" "$1" || return 1
  while read -r page; do diff "$root/$page" "$work/tree/$page" || return 1; done <"$work/pages"
}

if [ "$exact" != exact ]; then
  for lesson; do skip "numbers: $lesson" "$exact"; done
  finish
fi
for lesson; do
  check "numbers: $lesson: what its pages quote from training comes out again" come_out "$lesson"
done

# A digit that no run gave is found: planted in what the first lesson left behind.
planted() {
  file=$(find "$work/out/$1" -name '*_seeds.txt' | sort | head -n 1)
  tr 0-8 1-9 <"$file" >"$work/planted" && cp "$work/planted" "$file"
  ! come_out "$1" >"$work/found" && grep '^renewed lessons/' "$work/found"
}
check "numbers: finds a page that quotes another number than the run gave" planted "$1"
finish
