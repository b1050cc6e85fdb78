#!/bin/sh
# The library as somebody else uses it: installed and found by pkg-config, and as a meson subproject. Needs no network.
# Usage: consumers.sh ROOT BUILD [FLAGS]   TAP; $CXX is the compiler, FLAGS what the build was sanitized with
set -eu
. "$(dirname "$0")/tap.sh"
root=$1
build=$2
flags=${3:-}
export CCACHE_DISABLE=1

mkdir -p "$work/consumer/subprojects"
cat >"$work/consumer/main.cpp" <<'TEXT'
#include <gradus/gradus.h>

#include <cstdio>

#include "autograd/var.h"

int main() {
  using namespace gradus;
  Var w = parameter(tensor(Shape{2, 1}, {0.5, -1}, f64));
  Var y = matmul(tensor(Shape{1, 2}, {2, 3}, f64), w);  // 2 * 0.5 - 3 = -2
  backward(sum(square(y)));                             // 2 y x = -4 (2, 3)
  std::printf("%g %g\n", w.grad().at({0, 0}), w.grad().at({1, 0}));
}
TEXT
cat >"$work/consumer/meson.build" <<'TEXT'
project('consumer', 'cpp', default_options: ['cpp_std=c++20'])
executable('consumer', 'main.cpp', dependencies: dependency('gradus', fallback: 'gradus'))
TEXT

installed() {
  meson install -C "$build" --no-rebuild --destdir "$work/installed" || return 1
  pc=$(find "$work/installed" -name gradus.pc)
  # What make install would have put under / stands under $work/installed.
  sed "s|^prefix=|prefix=$work/installed|" "$pc" >"$work/gradus.pc"
  cat "$work/gradus.pc"
  # shellcheck disable=SC2086  # several words each
  eval $CXX -std=c++20 $flags "'$work/consumer/main.cpp'" -o "'$work/by_pkg_config'" \
    "$(PKG_CONFIG_PATH="$work:${PKG_CONFIG_PATH:-}" pkg-config --cflags --libs gradus)"
}
everything_installed() {
  (cd "$root" && find tensor autograd nn -name '*.h') | while read -r header; do
    [ -e "$(dirname "$(find "$work/installed" -name gradus.h)")/$header" ] || echo "not installed: $header"
  done >"$work/absent"
  cat "$work/absent"
  [ ! -s "$work/absent" ]
}
# All but the diagnosis, which is not used here and would take most of the time.
subproject() {
  ln -s "$root" "$work/consumer/subprojects/gradus"
  core=subprojects/gradus/libgradus_core.a
  meson setup "$work/consumer/build" "$work/consumer" --wrap-mode=nodownload --buildtype=plain --force-fallback-for=gradus &&
    ninja -C "$work/consumer/build" consumer.p/main.cpp.o "$core" || return 1
  # shellcheck disable=SC2086  # several words each
  (cd "$work/consumer/build" && eval $CXX $flags consumer.p/main.cpp.o "$core" -pthread "$(pkg-config --libs fmt)" -o "'$work/by_subproject'")
}
umbrella() {
  (cd "$root" && ls tensor/*.h autograd/*.h nn/*.h) | while read -r header; do
    grep -qF "#include \"$header\"" "$root/include/gradus/gradus.h" || echo "not in include/gradus/gradus.h: $header"
  done >"$work/absent"
  cat "$work/absent"
  [ ! -s "$work/absent" ]
}
computes() { [ "$("$1")" = "-8 -12" ]; }

check "consumers: installs, and pkg-config tells how to build against it" installed
check "consumers: what was built so computes a gradient" computes "$work/by_pkg_config"
check "consumers: every header is installed" everything_installed
check "consumers: gradus.h includes all that a user may include" umbrella
check "consumers: builds as a meson subproject" subproject
check "consumers: what was built so computes a gradient" computes "$work/by_subproject"
finish
