// What most tests include, precompiled where b_pch is on: reading it takes half the time of compiling a test. A source
// includes what it needs all the same; builds without this file must work.
#include <doctest/doctest.h>

#include <precompiled/standard.h>
#include "tests/tensor/check.h"
