#!/bin/sh
# What is written must be so: quoted code stands in the sources, quoted output is what the programs print, links lead
# somewhere inside the checkout, and the two languages of a page have the same anchors, formulas, code and numbers.
# Usage: notes.sh ROOT [TOUR LESSONS RUNNER]   LESSONS is the build's directory of lesson programs.
# TAP; after the tree itself, planted violations show that each rule can fail.
set -eu
. "$(dirname "$0")/tap.sh"
root=$1
tour=${2:-}
programs=${3:-}
runner=${4:-}
# The commands below run elsewhere.
case $runner in "" | /*) ;; *) runner=$PWD/$runner ;; esac
case $programs in "" | /*) ;; *) programs=$PWD/$programs ;; esac
unset GRADUS_LANG LC_ALL LC_MESSAGES LANG NO_COLOR
LC_ALL=C
export LC_ALL

# Prints the pages below $1, relative to it.
pages() {
  (cd "$1" && find . -name '.?*' -prune -o -name 'build*' -prune -o -name out -prune -o -name subprojects -prune -o \
    -name '*.md' -print) | sed 's|^\./||' | sort
}

# ---- quotes: <!-- quote: FILE NAME -->, then a code block that stands in FILE line by line; NAME occurs in FILE too

quotes() { # ROOT PAGE
  awk -v root="$1" -v page="$2" '
    function text_of(file,    line, text) {
      text = "\n"
      while ((getline line < file) > 0) text = text line "\n"
      close(file)
      return text
    }
    /^ *<!-- quote: / {
      split($0, word, " ")
      file = word[3]; name = word[4]; sub(/.*::/, "", name)
      source = text_of(root "/" file)
      if (source == "\n") print page ":" NR ": no file " file
      else if (index(source, name) == 0) print page ":" NR ": no " name " in " file
      if ((getline line) <= 0 || line !~ /^ *```/) { print page ":" NR ": no code block after the mark"; next }
      start = NR; block = "\n"
      while ((getline line) > 0 && line !~ /^ *```/) block = block line "\n"
      if (block == "\n") print page ":" start ": an empty quote"
      if (index(source, block) == 0) print page ":" start ": not what stands in " file
    }' "$1/$2"
}

# ---- links: [TEXT](PLACE "WORDS"). PLACE is there, also its anchor; WORDS, and TEXT if it is code, occur in it

links() { # ROOT PAGE
  awk -v page="$2" '
    /^ *```/ { fenced = !fenced; next }
    fenced || /^    / { next }
    {
      parts = split($0, part, "`"); line = part[1]
      for (i = 2; i <= parts; ++i) {
        if (i % 2 == 0) gsub(/\]\(/, "] (", part[i])  # a lambda, not a link
        line = line "`" part[i]
      }
      while ((at = index(line, "](")) > 0) {
        before = substr(line, 1, at - 1); line = substr(line, at + 2)
        words = ""
        if (match(line, /^[^ )]* "[^"]*"\)/)) {
          place = line; sub(/ .*/, "", place)
          words = substr(line, length(place) + 3, RLENGTH - length(place) - 4)
        } else { place = line; sub(/[ )].*/, "", place) }
        if (words == "" && before ~ /\[`[^`]*`$/ && place ~ /\.(cpp|h)$/) { words = before; sub(/`$/, "", words); sub(/.*`/, "", words) }
        print NR "\t" place "\t" words
      }
    }' "$1/$2" >"$work/links"
  folder=$(dirname "$2")
  tab=$(printf '\t')
  while IFS="$tab" read -r line place words; do
    case $place in
      http://* | https://* | mailto:*) continue ;;
      /*) echo "$2:$line: $place is a path on this machine"; continue ;;
      *[!A-Za-z0-9_./#-]*) echo "$2:$line: what is $place?"; continue ;;
    esac
    file=${place%%#*}
    path=$2
    if [ -n "$file" ]; then path=$folder/$file; fi
    # The path without its "..": nothing may lead out of the checkout.
    inside=$(echo "$path" | awk -F/ '{ n = 0
      for (i = 1; i <= NF; ++i) { if ($i == "..") { if (n-- == 0) exit } else if ($i != "." && $i != "") kept[++n] = $i }
      text = "."
      for (i = 1; i <= n; ++i) text = text "/" kept[i]
      print text }')
    if [ -z "$inside" ]; then echo "$2:$line: $place leads out of the checkout"; continue; fi
    if [ ! -e "$1/$inside" ]; then echo "$2:$line: $place is not there"; continue; fi
    if [ "$place" != "$file" ] && ! anchors "$1/$inside" | grep -qxF -e "${place#*#}"; then
      echo "$2:$line: no anchor ${place#*#} in $path"
    fi
    if [ -n "$words" ] && ! grep -qF -e "$words" "$1/$inside"; then echo "$2:$line: \"$words\" is not in $path"; fi
  done <"$work/links"
  grep -nE '(^|[^A-Za-z0-9_.~-])/(work|tmp|home|root|Users)/' "$1/$2" | sed "s|^|$2: a path on this machine: |" || true
}

# Explicit anchors, and those that headings get.
anchors() {
  awk '
    /^```/ { fenced = !fenced }
    fenced { next }
    /<a id="/ { id = $0; sub(/.*<a id="/, "", id); sub(/".*/, "", id); print id }
    /^#+ / { id = tolower($0); sub(/^#+ /, "", id); gsub(/[^a-z0-9 _-]/, "", id); gsub(/ /, "-", id); print id }' "$1"
}

# ---- formulas: $...$ is shown as a formula only when it stands free

crowded() { # ROOT PAGE
  awk -v page="$2" '
    /^ *```/ { fenced = !fenced; next }
    fenced || /^\$\$/ { next }
    {
      gsub(/`[^`]*`/, "`")
      parts = split($0, part, "$")
      for (i = 2; i <= parts; i += 2) {
        if (part[i - 1] !~ /(^|[ (|])$/ || part[i + 1] !~ /^([ .,:;)|]|$)/) print page ":" NR ": no room around $" part[i] "$"
      }
    }' "$1/$2"
}

# ---- Chinese has full-width commas, semicolons and colons; C++ names such as std::vector may stand in it

half_width() { # FILE...
  awk '
    BEGIN { han = "[\344-\351][\200-\277][\200-\277]" }  # U+4000 to U+9FFF in UTF-8
    { line = $0; gsub(/::/, "", line) }
    line ~ han "[,;:]" || line ~ "[,;:]" han { print FILENAME ":" FNR ": half-width: " $0 }' "$@"
}
speaks_chinese() { # ROOT: its Chinese pages, and the sources of what programs say
  (cd "$1" && pages . | grep '\.zh\.md$' && find gradus autograd lessons nn tensor -name gradus -o -name '*.cpp' -o -name '*.h')
}

# ---- two languages: PAGE.md and PAGE.zh.md

# Code blocks, except output, which speaks the language of the page.
code_of() {
  awk '
    /^<!-- (output|numbers|run):/ { region = 1 }
    /^<!-- end -->/ { region = 0 }
    /^ *```/ { fenced = !fenced; if (!region) print; next }
    fenced && !region' "$1"
}
explicit_anchors_of() { sed -n 's/.*<a id="\([^"]*\)".*/\1/p' "$1"; }
formulas_of() {
  awk '
    /^ *```/ { fenced = !fenced; next }
    fenced { next }
    {
      gsub(/`[^`]*`/, "")
      if (/^\$\$/) { print; next }
      parts = split($0, part, "$")
      if (parts % 2 == 0) print "one $ too many in: " $0
      for (i = 2; i <= parts; i += 2) print part[i]
    }' "$1" | sort -u
}
# Numbers of the text, of tables and of output.
numbers_of() {
  awk '
    /^<!-- (output|numbers|run):/ { region = 1 }
    /^<!-- end -->/ { region = 0 }
    /^ *```/ { fenced = !fenced; next }
    fenced && !region { next }
    {
      gsub(/<!--[^>]*-->|<[^>]*>|\]\([^)]*\)/, " ")
      if (!region) gsub(/`[^`]*`|\$[^$]*\$/, " ")
      while (match($0, /[0-9]+([.,][0-9]+)*/)) { print substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) }
    }' "$1" | sort -u
}
quote_marks_of() { grep -E '^ *<!-- (quote|output|numbers|run):' "$1" || true; }
same() { # WHAT ROOT PAGE: prints how the two languages differ in it
  chinese=${3%.md}.zh.md
  if [ ! -f "$2/$chinese" ]; then echo "$chinese is not there"; return; fi
  "$1" "$2/$3" >"$work/english"
  "$1" "$2/$chinese" >"$work/chinese"
  diff "$work/english" "$work/chinese" || true
}
linked() { # ROOT PAGE: each language leads to the other
  base=$(basename "$2" .md)
  grep -qF "]($base.zh.md)" "$1/$2" || echo "$2 does not lead to $base.zh.md"
  grep -qF "]($base.md)" "$1/${2%.md}.zh.md" || echo "${2%.md}.zh.md does not lead to $base.md"
}

# ---- output: <!-- output: NAME --> or, on a lesson's page, <!-- run: OPTIONS -->, then a code block that the program
# printed. A lesson is run once for each OPTIONS, so a page keeps to few of them, and they take seconds.

printed() { # PAGE MARK OUTPUT_FILE
  awk -v page="$1" -v mark="<!-- $2 -->" -v output="$3" '
    BEGIN { text = "\n"; while ((getline line < output) > 0) text = text line "\n" }
    $0 == mark {
      ++found
      getline
      block = "\n"
      while ((getline line) > 0 && line !~ /^```/) block = block line "\n"
      if (index(text, block) == 0) print page ": the program does not print:" block
    }
    END { if (!found) print page ": no " mark }' "$1"
}

# ---- numbers from training: <!-- numbers: FILE FILE.. -->, a code block for each FILE (renewed by renew_numbers.sh), and
# text beside them, whose numbers with a decimal point or an exponent stand in one of these blocks, on this page or on that
# of the lesson

blocks_of_numbers() { # PAGE: what stands in them
  awk '
    /^<!-- numbers: / { region = 1 }
    /^<!-- end -->/ { region = 0 }
    /^```/ { fenced = !fenced; next }
    region && fenced' "$1"
}
trained_numbers() { # ROOT PAGE
  case $2 in *.zh.md) ending=.zh.md ;; *) ending=.md ;; esac
  {
    blocks_of_numbers "$1/$2"
    # shellcheck disable=SC2013  # names without blanks
    for lesson in $(sed -n 's/^<!-- numbers: \([^/ ]*\).*/\1/p' "$1/$2" | sort -u); do
      if [ -f "$1/lessons/$lesson/README$ending" ]; then blocks_of_numbers "$1/lessons/$lesson/README$ending"; fi
    done
  } >"$work/blocks"
  awk -v page="$2" -v blocks="$work/blocks" '
    function numbers_in(text, known,    at, number) {
      while (match(text, /[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/)) {
        number = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (known) stands[number] = 1
        else if (number ~ /[.e]/ && !(number in stands)) print page ":" NR ": " number " is in no block"
      }
    }
    BEGIN { while ((getline line < blocks) > 0) numbers_in(line, 1) }
    /^<!-- numbers: / { region = 1; files = split($0, word, " ") - 3; start = NR; count = 0; next }
    /^<!-- end -->/ {
      if (region && count != files) print page ":" start ": " files " files and " count " code blocks"
      region = 0
    }
    /^```/ { fenced = !fenced; if (fenced) ++count; next }
    region && !fenced { gsub(/`[^`]*`|\$[^$]*\$|\]\([^)]*\)/, " "); numbers_in($0, 0) }' "$1/$2"
}

# ---- docs/notes-map.md: | N0-1 | English | Chinese | lesson | section | code | test | command |, no item missing; the
# section of an item whose lesson is here is one of that lesson

items() { # ROOT
  awk -v here=" $(cd "$1" && echo lessons/[0-9]*) " '
    /^\| N[0-9]+-/ {
      id = $2
      split(id, part, "-"); note = substr(part[1], 2)
      if (part[2] != ++last[note]) { print id ": where N" note "-" last[note] " should be"; last[note] = part[2] + 0 }
      line = $0
      while (sub(/ \| \| /, " | - | ", line)) {}
      count = split(line, cell, / \| /)
      if (count != 8) { print id ": " count " cells"; next }
      if (index(here, " lessons/" cell[4] "_") && index(cell[5], "](../lessons/" cell[4] "_") == 0) print id ": no section of lesson " cell[4]
    }
    END {
      all["0"] = 42; all["1"] = 34; all["3"] = 22
      for (note in all) if (last[note] != all[note]) print "note " note ": " last[note] + 0 " of " all[note] " items"
    }' "$1/docs/notes-map.md"
}

# ---- the tree

quiet() { # COMMAND...: succeeds when it prints nothing
  "$@" >"$work/found" 2>&1 || return 1
  cat "$work/found"
  [ ! -s "$work/found" ]
}

check "notes: there are pages to look at" test -e "$root/README.md"
for page in $(pages "$root"); do
  check "notes: $page: quotes stand in their sources" quiet quotes "$root" "$page"
  check "notes: $page: links lead somewhere in the checkout" quiet links "$root" "$page"
  check "notes: $page: formulas stand free" quiet crowded "$root" "$page"
  if grep -q '^<!-- numbers: ' "$root/$page"; then
    check "notes: $page: numbers from training stand in blocks that are renewed" quiet trained_numbers "$root" "$page"
  fi
done
for page in README.md docs/cpp.md docs/diagnosis.md $(cd "$root" && echo lessons/[0-9]*/README.md); do
  check "notes: $page: both languages have the same anchors" quiet same explicit_anchors_of "$root" "$page"
  check "notes: $page: both languages have the same formulas" quiet same formulas_of "$root" "$page"
  check "notes: $page: both languages have the same code" quiet same code_of "$root" "$page"
  check "notes: $page: both languages have the same numbers" quiet same numbers_of "$root" "$page"
  check "notes: $page: both languages have the same marks" quiet same quote_marks_of "$root" "$page"
  check "notes: $page: the languages lead to each other" quiet linked "$root" "$page"
done
# shellcheck disable=SC2046  # file names, split at the blanks
full_width() { (cd "$root" && half_width $(speaks_chinese .)); }
check "notes: Chinese has full-width commas and colons" quiet full_width
minutes() { sed -n '1,20p' "$root/$1/README.md" | grep -Eq '(^|[^0-9])[0-9]+ minutes' && sed -n '1,20p' "$root/$1/README.zh.md" | grep -Eq '[0-9]+ 分钟'; }
check "notes: docs/notes-map.md has every item of the course notes, with the section of each lesson that is here" quiet items "$root"
for lesson in $(cd "$root" && echo lessons/[0-9]*); do
  check "notes: $lesson: says how many minutes it takes" minutes "$lesson"
done

if [ -n "$tour" ]; then
  "$tour" >"$work/tour" 2>&1 || echo "exit code $?" >>"$work/tour"
  for page in README.md README.zh.md; do
    check "notes: $page: the tour prints what is shown" quiet printed "$root/$page" "output: tour" "$work/tour"
  done
fi
if [ -n "$programs" ]; then
  for page in $(cd "$root" && echo lessons/[0-9]*/README.md lessons/[0-9]*/README.zh.md); do
    lesson=$(basename "$(dirname "$page")")
    case $page in *.zh.md) lang=zh ;; *) lang=en ;; esac
    sed -n 's/^<!-- run: *\(.*\) *-->$/\1/p' "$root/$page" | sort -u >"$work/runs"
    while read -r options; do
      # shellcheck disable=SC2086  # options, split at the blanks
      "$programs/$lesson/$lesson" --plain --lang $lang --out "$work/out" $options >"$work/run" 2>&1 </dev/null || echo "exit code $?" >>"$work/run"
      check "notes: $page: shows what the lesson prints with '$options'" quiet printed "$root/$page" "run:${options:+ $options}" "$work/run"
      case $lesson,$options in
        "09_bahdanau,--steps 1")
          top=README$([ $lang = en ] || echo .zh).md
          check "notes: $top: lesson 09 gives this verdict" quiet printed "$root/$top" "output: verdict" "$work/run" ;;
      esac
    done <"$work/runs"
  done
fi

if [ -n "$runner" ]; then
  for lang in en zh; do
    page=README$([ $lang = en ] || echo .zh).md
    trace=$(sed -n 's|^\./gradus diagnose \(tests/.*\)|\1|p' "$root/$page")
    (cd "$root" && GRADUS_LANG=$lang "$runner" --root . --build "$programs/.." diagnose --plain "$trace") >"$work/diagnose" 2>&1 || true
    check "notes: $page: diagnose gives the verdict at the top" quiet printed "$root/$page" "output: diagnose" "$work/diagnose"
  done
fi

# ---- planted violations

tree=$work/tree
mkdir -p "$tree/docs" "$tree/nn"
printf 'int a;\nint b;\nint c;\n' >"$tree/nn/a.cpp"
write() { cat >"$tree/$1"; }
caught() { # REASON COMMAND...: the command finds exactly this
  reason=$1
  shift
  "$@" | tee "$work/found"
  grep -q -e "$reason" "$work/found"
}

write a.md <<'TEXT'
# A page
<a id="here"></a>
<!-- quote: nn/a.cpp b -->
```cpp
int b;
int c;
```
[`b`](nn/a.cpp) [x](nn/a.cpp "int c") [y](#here) [z](docs/../b.md#a-heading) [w](https://example.org) `[](auto v)`
TEXT
write b.md <<'TEXT'
## A heading
TEXT
check "notes: accepts a right quote" quiet quotes "$tree" a.md
check "notes: accepts right links" quiet links "$tree" a.md
write q.md <<'TEXT'
<!-- quote: nn/a.cpp b -->
```cpp
int a;
int c;
```
TEXT
check "notes: finds a quote with a line left out" caught 'not what stands in' quotes "$tree" q.md
write q.md <<'TEXT'
<!-- quote: nn/b.cpp b -->
```cpp
int b;
```
TEXT
check "notes: finds a quote from a file that is not there" caught 'no file' quotes "$tree" q.md
write q.md <<'TEXT'
<!-- quote: nn/a.cpp Gru::missing -->
```cpp
int b;
```
TEXT
check "notes: finds a quote of a name that is not there" caught 'no missing in' quotes "$tree" q.md
printf '<!-- quote: nn/a.cpp b -->\n\ntext\n' | write q.md
check "notes: finds a mark without a block" caught 'no code block' quotes "$tree" q.md
planted_link() { echo "$1" | write l.md && caught "$2" links "$tree" l.md; }
check "notes: finds a link to a file that is not there" planted_link '[x](nn/c.cpp)' 'is not there'
check "notes: finds a link to an anchor that is not there" planted_link '[x](a.md#there)' 'no anchor there'
check "notes: finds a link out of the checkout" planted_link '[x](nn/../../a.md)' 'leads out'
check "notes: finds a link to a path on this machine" planted_link '[x](/etc/hosts)' 'on this machine'
check "notes: finds a path on this machine in the text" planted_link 'look at /home/me/a' 'on this machine'
check "notes: finds a link to words that are not there" planted_link '[x](nn/a.cpp "int d")' '"int d" is not in'
check "notes: finds a link to a name that is not there" planted_link '[`zebra`](nn/a.cpp)' '"zebra" is not in'
differs() { # WHAT ENGLISH CHINESE
  printf '%b\n' "$2" | write d.md
  printf '%b\n' "$3" | write d.zh.md
  caught '^[<>]' same "$1" "$tree" d.md
}
agrees() {
  printf '%b\n' "$2" | write d.md
  printf '%b\n' "$3" | write d.zh.md
  quiet same "$1" "$tree" d.md
}
check "notes: finds anchors in another order" differs explicit_anchors_of '<a id="a"></a>\n<a id="b"></a>' '<a id="b"></a>\n<a id="a"></a>'
check "notes: finds a formula that differs" differs formulas_of 'so $a_t = 1$' '所以 $a_{t-1} = 1$'
echo 'so $a' | write f.md
check "notes: finds a formula without an end" caught 'one . too many' formulas_of "$tree/f.md"
planted_formula() { echo "$1" | write f.md && caught 'no room' crowded "$tree" f.md; }
check "notes: finds a formula that follows a letter" planted_formula 'so$a$ is'
check "notes: finds a formula before a Chinese full stop" planted_formula '就是 $a$。'
planted_comma() { echo "$1" | write h.md && caught 'half-width' half_width "$tree/h.md"; }
check "notes: finds a half-width comma after Chinese" planted_comma '查询,s_t'
check "notes: finds a half-width colon before Chinese" planted_comma 'alpha:权重'
printf '%s\n' '查询，键：`a, b`；写明是 gradus::名字' | write h.md
check "notes: accepts full-width commas, and the names of C++" quiet half_width "$tree/h.md"
check "notes: finds code that differs" differs code_of '```\na\n```' '```\nb\n```'
check "notes: finds a number that differs" differs numbers_of 'at 80: 15.2 %' '在 80 处:15.3 %'
check "notes: finds a number of the output that differs" differs numbers_of '<!-- output: x -->\n```\n0.1\n```\n<!-- end -->' '<!-- output: x -->\n```\n0.2\n```\n<!-- end -->'
check "notes: output may speak the language of the page" agrees code_of '<!-- output: x -->\n```\nyes\n```\n<!-- end -->' '<!-- output: x -->\n```\n是\n```\n<!-- end -->'
check "notes: finds a translation that is missing" caught 'is not there' same code_of "$tree" b.md
mkdir -p "$tree/lessons/01_a"
planted_item() { # SED_PROGRAM REASON
  sed "$1" "$root/docs/notes-map.md" >"$tree/docs/notes-map.md"
  caught "$2" items "$tree"
}
check "notes: finds an item that is missing" planted_item '/^| N1-7 /d' 'N1-8: where N1-7'
check "notes: finds a note that ends too early" planted_item '/^| N3-22 /d' 'note 3: 21 of 22'
check "notes: finds an item without its section" planted_item '/^| N0-30 /s/\[01 [^)]*)//' 'N0-30: no section of lesson 01'
numbers_page() { printf '<!-- numbers: 01_a/b -->\n```text\n0.12 99.4 %% 2e-05\n```\n%s\n<!-- end -->\n' "$1" | write "$2"; }
planted_number() { numbers_page "$1" lessons/01_a/README.md && caught 'in no block' trained_numbers "$tree" lessons/01_a/README.md; }
numbers_page 'from 0.12 to 99.4 %, `0.5`, in 3 runs, at 2e-05' lessons/01_a/README.md
check "notes: accepts numbers that stand in a block" quiet trained_numbers "$tree" lessons/01_a/README.md
printf '<!-- numbers: 01_a/c -->\n```text\n```\n99.4 %%\n<!-- end -->\n' | write n.md
check "notes: accepts a number from the page of the lesson" quiet trained_numbers "$tree" n.md
check "notes: finds a number that no block has" planted_number 'up to 99.3 %'
check "notes: finds a small number that no block has" planted_number 'at 2e-06'
printf '<!-- numbers: 01_a/c 01_a/d -->\n```text\n```\n<!-- end -->\n' | write n.md
check "notes: finds a file without a code block" caught '2 files and 1' trained_numbers "$tree" n.md
printf '<!-- output: x -->\n```text\none\ntwo\n```\n' | write o.md
printf 'zero\none\ntwo\n' >"$work/right"
printf 'one\nthree\n' >"$work/wrong"
check "notes: accepts what a program printed" quiet printed "$tree/o.md" "output: x" "$work/right"
check "notes: finds output that no program printed" caught 'does not print' printed "$tree/o.md" "output: x" "$work/wrong"
check "notes: finds a page without the output that it should show" caught 'no <!-- output: y' printed "$tree/o.md" "output: y" "$work/right"
finish
