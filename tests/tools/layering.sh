#!/bin/sh
# An include may only point to the left of tensor <- autograd <- nn <- lessons, and the independent references stand alone;
# every source file is built.
# Usage: layering.sh ROOT   TAP; after the tree itself, planted violations show that each rule can fail.
set -eu
. "$(dirname "$0")/tap.sh"
root=$1

# Prints one line for each include of the tree below $1 that breaks a rule.
violations() {
  (cd "$1" && find . -name '.?*' -prune -o -name 'build*' -prune -o \( -name '*.h' -o -name '*.cpp' \) -print) |
    sed 's|^\./||' | grep -E '^(tensor|autograd|nn|lessons|tests)/' | LC_ALL=C sort |
    (cd "$1" && tr '\n' '\0' | xargs -0 awk '
      function layer(path) {
        sub(/\/.*/, "", path)
        return path == "tensor" ? 1 : path == "autograd" ? 2 : path == "nn" ? 3 : path == "lessons" ? 4 : path == "tests" ? 5 : 0
      }
      function report(why) { print FILENAME ":" FNR ": " why ": " $0 }
      /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        quoted = $0 ~ /include[ \t]*"/
        target = $0; sub(/^[^"<]*["<]/, "", target); sub(/[">].*/, "", target)
        folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
        alone = FILENAME ~ /^nn\/conventions\/reference\// || FILENAME ~ /^tests\/reference\/.*\.h$/

        if (quoted && (!layer(target) || target ~ /\.\./)) report("not spelled from the root of the checkout")
        else if (quoted && layer(target) > layer(FILENAME)) report("points to the right of tensor <- autograd <- nn <- lessons")
        else if (alone && quoted && index(target, folder "/") != 1) report("a reference includes standard headers and its own folder only")
        else if (alone && !quoted && target !~ /^[a-z0-9_]+$/) report("a reference includes standard headers and its own folder only")
        else if (!quoted && target ~ /^(fmt|CLI|nlohmann)\// && layer(FILENAME) < 4 && FILENAME ~ /\.h$/) report("a public header includes another library")
      }')
}

none() {
  violations "$1" >"$work/found"
  cat "$work/found"
  [ ! -s "$work/found" ]
}

# Prints the .cpp files below $1 that stand in no meson.build of their top folder. Exercises are compiled by ./gradus
# check, and all of them by exercises.sh.
forgotten() {
  (cd "$1" && for folder in tensor autograd nn lessons tests; do
    [ ! -d "$folder" ] || find "$folder" -name '*.cpp' | while read -r file; do
      case $file in
        lessons/*/exercise.cpp | lessons/*/solution.cpp | lessons/*/check.cpp | lessons/*/mine_parts.cpp | lessons/*/mistakes/* | tests/fixtures/exercises/* | tests/fixtures/intruder.cpp)
          continue ;;
      esac
      grep -qF "'${file#"$folder"/}'" "$folder/meson.build" 2>/dev/null ||
        grep -qF "'$(basename "$file")'" "$(dirname "$file")/meson.build" 2>/dev/null || echo "in no list: $file"
    done
  done) | tee "$work/forgotten"
}
all_built() { [ -z "$(forgotten "$1")" ] || { cat "$work/forgotten"; return 1; }; }

# planted FILE LINE REASON: a tree with this one line must be found guilty, for this reason.
planted() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/$(dirname "$1")"
  printf '// a file\n%s\n' "$2" >"$work/tree/$1"
  violations "$work/tree" | tee "$work/found"
  [ "$(wc -l <"$work/found")" -eq 1 ] && grep -q "^$1:2: $3" "$work/found"
}

# allowed FILE LINE: a tree with this one line must be found innocent.
allowed() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/$(dirname "$1")"
  printf '%s\n' "$2" >"$work/tree/$1"
  none "$work/tree"
}

check "layering: the tree to look at is there" test -e "$root/tensor/tensor.h"
check "layering: no include of the tree breaks a rule" none "$root"
check "layering: every source file is in a list of meson.build" all_built "$root"
check "layering: finds tensor/ knowing autograd/" planted tensor/a.h '#include "autograd/var.h"' 'points to the right'
check "layering: finds tensor/kernels/ knowing nn/" planted tensor/kernels/a.cpp '#include "nn/gru.h"' 'points to the right'
check "layering: finds autograd/ knowing nn/" planted autograd/a.cpp ' # include "nn/gru.h"' 'points to the right'
check "layering: finds nn/ knowing lessons/" planted nn/a.cpp '#include "lessons/common/plot.h"' 'points to the right'
check "layering: finds a lesson knowing tests/" planted lessons/09/a.cpp '#include "tests/reference/a.h"' 'points to the right'
check "layering: finds an include of a neighbour without its folder" planted nn/a.cpp '#include "gru.h"' 'not spelled'
check "layering: finds a way around through .." planted nn/a.cpp '#include "nn/../lessons/a.h"' 'not spelled'
check "layering: finds a reference that knows the library" \
  planted nn/conventions/reference/gru.h '#include "tensor/tensor.h"' 'a reference'
check "layering: finds a reference that knows another library" \
  planted nn/conventions/reference/gru.cpp '#include <fmt/core.h>' 'a reference'
check "layering: finds a transcription that knows the references" \
  planted tests/reference/cho2014.h '#include "nn/conventions/reference/gru.h"' 'a reference'
check "layering: finds a public header with fmt" planted nn/a.h '#include <fmt/core.h>' 'a public header'
check "layering: allows what points to the left" allowed nn/a.cpp '#include "tensor/tensor.h"'
check "layering: allows a reference its own folder" \
  allowed nn/conventions/reference/a.h '#include "nn/conventions/reference/plain.h"'
check "layering: allows a reference the standard library" allowed tests/reference/a.h '#include <cmath>'
check "layering: allows the test of a transcription doctest and the library" \
  allowed tests/reference/a_test.cpp '#include "nn/gru.h"'
mkdir -p "$work/lists/nn/formats"
echo "files('formats/a.cpp')" >"$work/lists/nn/meson.build"
touch "$work/lists/nn/formats/a.cpp" "$work/lists/nn/a.cpp"
only_one() { [ "$(forgotten "$work/lists")" = 'in no list: nn/a.cpp' ]; }
check "layering: finds a source file that is in no list" only_one
finish
