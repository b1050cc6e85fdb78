#!/bin/sh
# Renews what pages quote from training. A lesson that was run with several seeds leaves its tables and pictures as text
# files, in both languages; here they take the place of the code blocks behind <!-- numbers: FILE FILE.. -->, where FILE
# is such a file without its .txt, and the first code block gets the first file. What stands beside the blocks is left
# as it is: notes.sh says which of its numbers are no longer in a block. FILE is LESSON/NAME or LESSON/seed_1/NAME from
# seeds 1, 2, 3; LESSON/no_curriculum/NAME from those under --no-curriculum; LESSON/steps_N/NAME from seed 1 and N steps.
# Usage: renew_numbers.sh ROOT BUILD [LESSON...]   LESSON such as 06_gru; none: every lesson that a page quotes.
#        OUT=DIR renew_numbers.sh ...              from what an earlier run left in DIR, where that is complete
set -eu
root=$1
build=$2
shift 2
out=${OUT:-$build/renewed}
pages=$(cd "$root" && grep -l '^<!-- numbers: ' README*.md lessons/*/README*.md)
# shellcheck disable=SC2086  # file names, split at the blanks
quoted=$(cd "$root" && sed -n 's/^<!-- numbers: \(.*\) -->$/\1/p' $pages | tr ' ' '\n' | sed 's|/.*||' | sort -u | tr '\n' ' ')
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $quoted
mkdir -p "$out"

# train LESSON PLACE OPTIONS...: runs it unless OUT has the end of that run at PLACE already.
train() {
  lesson=$1 place=$2
  shift 2
  if [ -n "${OUT:-}" ] && [ -e "$place" ]; then return; fi
  echo "running $lesson $*"
  "$build/lessons/$lesson/$lesson" --plain --lang en "$@" >"$out/log" ||
    { echo "$lesson failed; its output is in $out/log" >&2; exit 1; }
}

for lesson; do
  case " $quoted" in *" $lesson "*) ;; *) echo "no page quotes $lesson; there are: $quoted" >&2; exit 2 ;; esac
  train "$lesson" "$out/$lesson/seed_3" --seeds 1,2,3 --out "$out"
  # shellcheck disable=SC2086
  for variant in $(cd "$root" && grep -oh " $lesson/[a-z]*_[a-z0-9]*/" $pages | cut -d / -f 2 | sort -u); do
    case $variant in
      no_curriculum) train "$lesson" "$out/$lesson/$variant/seed_3" --seeds 1,2,3 --no-curriculum --out "$out" ;;
      steps_*)
        rm -rf "$out/$variant"
        train "$lesson" "$out/$lesson/$variant" --seeds 1 --steps "${variant#steps_}" --out "$out/$variant"
        if [ -d "$out/$variant" ]; then rm -rf "$out/$lesson/$variant"; mv "$out/$variant/$lesson" "$out/$lesson/$variant"; fi ;;
    esac
  done
done

for page in $pages; do
  case $page in *.zh.md) ending=.zh.txt ;; *) ending=.txt ;; esac
  awk -v lessons=" $* " -v out="$out" -v ending="$ending" -v page="$page" '
    /^<!-- numbers: / { count = split($0, word, " ") - 3; block = 0; region = 1 }
    /^<!-- end -->/ { region = 0 }
    region && /^```/ {
      ++block
      file = block <= count ? word[block + 2] : ""
      lesson = file; sub(/\/.*/, "", lesson)
      if (file == "") print page ":" NR ": a code block more than the mark has files" > "/dev/stderr"
      if (index(lessons, " " lesson " ")) {
        print
        path = out "/" file ending
        lines = 0
        while ((getline line < path) > 0) { print line; ++lines }
        close(path)
        if (!lines) { print page ":" NR ": there is no " path > "/dev/stderr"; exit 1 }
        while ((getline) > 0 && !/^```/) { }
      } else {
        print
        while ((getline) > 0 && !/^```/) print
      }
    }
    { print }' "$root/$page" >"$out/page"
  if ! cmp -s "$out/page" "$root/$page"; then
    cp "$out/page" "$root/$page"
    echo "renewed $page"
  fi
done
