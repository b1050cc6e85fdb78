#!/bin/sh
# The quiz through a pipe: sh quiz.sh LESSON_11. It reads one answer a line, asks again for what is none, ends at q or at
# the end of the input with the score, and asks the same for the same seed. Speaks TAP.
set -u
program=$1
. "$(dirname "$0")/../tools/tap.sh"
unset GRADUS_LANG LC_ALL LC_MESSAGES LANG NO_COLOR

quiz() { "$program" --try quiz --out "$work/out" "$@"; }  # answers on standard input
says() { grep -qF -e "$1" "$work/text" || { cat "$work/text"; return 1; }; }

check "quiz: no answer: no score" sh -c "'$program' --try quiz --out '$work/out' </dev/null >'$work/text'"
check "quiz: says so" says 'You named 0 of 0.'

# Six first answers; what the quiz says of them gives the right ones.
printf '1\n1\n1\n1\n1\n1\nq\n' | quiz >"$work/text"
check "quiz: q ends it" says ' of 6.'
right=$(sed -n 's/^Right\.$/1/p; s/^No, it is \([1-5]\): .*/\1/p' "$work/text")
check "quiz: six questions are answered" test "$(echo "$right" | wc -l)" = 6
check "quiz: a mistake comes with formula, fix and test" sh -c "grep -q '^  used ' '$work/text' && grep -q '^  paper ' '$work/text' && grep -q '^  fix ' '$work/text' && grep -q '^  test ' '$work/text'"
check "quiz: fits 80 columns" sh -c "! LC_ALL=C.UTF-8 grep -qE '^.{81}' '$work/text'"
fits() { # FILE: every question, from its number to its prompt, leaves a line of 24 free
  awk '/^[0-9]+\. It claims/ { start = NR } /^It claims: .* or q: / { if (NR - start + 1 > 23) bad = NR; ++asked } END { exit bad || asked < 6 }' "$1"
}
check "quiz: a question fits 24 lines, with the claim at its end" fits "$work/text"
echo "$right" | quiz >"$work/text"
check "quiz: the right answers are right again" says 'You named 6 of 6.'

printf 'seven\n6\n\n%s\nq\n' "$(echo "$right" | head -n 1)" | quiz >"$work/text"
check "quiz: asks again for what is no answer" says 'You named 1 of 1.'
printf '1\nq\n' | quiz --lang zh >"$work/text"
check "quiz: in Chinese" says '得分：'
# On a terminal the verdict waits for Enter: the second answer is the third line typed.
if command -v script >/dev/null; then
  printf '1\n\n1\nq\n' | script -qec "'$program' --try quiz --out '$work/out'" /dev/null >"$work/text"
  check "quiz: on a terminal the verdict stays until Enter" says 'Enter for the next one, or q: '
  check "quiz: Enter is no answer" grep -q 'of 2\.' "$work/text"
fi
finish
