#!/bin/sh
# Tries the committed state on a machine that has nothing: a minimal Debian in a directory, made with debootstrap.
# For Ubuntu: SUITE=noble MIRROR=http://archive.ubuntu.com/ubuntu FRESH=/tmp/gradus_noble fresh_machine.sh root ./gradus run 09
# Started by hand, as root: fresh_machine.sh root|user COMMAND...   for example: fresh_machine.sh user ./gradus test
# root works as root; user as a normal user with sudo. Says how long each command took and what was installed.
# FRESH names the directory (default: /tmp/gradus_fresh); the bare system stays there for the next time.
set -eu
who=${1:-}
case $who in root | user) shift ;; *) sed -n '2,6s/^# //p' "$0" && exit 2 ;; esac
[ $# -gt 0 ] || set -- ./gradus test
root=$(cd "$(dirname "$0")/../.." && pwd -P)
fresh=${FRESH:-/tmp/gradus_fresh}
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}

if [ ! -e "$fresh/bare/etc/debian_version" ]; then
  mkdir -p "$fresh"
  # Ubuntu's installer enables universe; Debian's debootstrap has no script of its own for newer releases of Ubuntu.
  case $mirror in *ubuntu*) components=main,universe script=gutsy ;; *) components=main script= ;; esac
  debootstrap --variant=minbase --components="$components" "$suite" "$fresh/bare" "$mirror" \
    ${script:+"/usr/share/debootstrap/scripts/$script"} >"$fresh/debootstrap.log" || { tail "$fresh/debootstrap.log"; exit 1; }
  # The way to the packages is this machine's own.
  for file in /etc/resolv.conf /etc/apt/apt.conf.d/*; do cp -L "$file" "$fresh/bare$file"; done
  chroot "$fresh/bare" apt-get clean
fi
rm -rf "${fresh:?}/$who" "$fresh/bare/var/lib/apt/lists"/*
cp -a "$fresh/bare" "$fresh/$who"
cd "$fresh/$who"
home=/root
if [ "$who" = user ]; then
  home=/home/learner
  chroot . sh -c 'apt-get update && apt-get install -y --no-install-recommends sudo && useradd -m -s /bin/bash learner' >/dev/null
  echo 'learner ALL=(ALL) NOPASSWD: ALL' >etc/sudoers.d/learner
  rm -rf var/lib/apt/lists/*
fi
git clone -q "$root" ".$home/gradus"
chroot . chown -R "$([ "$who" = root ] && echo root || echo learner)" "$home"
chroot . dpkg-query -W -f '${Package} ${Version}\n' | sort >"$fresh/before"

cat >tmp/commands <<TEXT
cd $home/gradus && $*
TEXT
start=$(date +%s)
status=0
unshare --mount --pid --fork sh -c '
  mount -t proc proc proc && mount --rbind /dev dev && mount -t tmpfs tmpfs run
  if [ "$0" = root ]; then run="env -i"; else run="setpriv --reuid=learner --regid=learner --init-groups env -i"; fi
  exec chroot . $run PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$1" TERM=xterm sh /tmp/commands' "$who" "$home" || status=$?
echo "fresh machine ($who): '$*' ended with $status after $(($(date +%s) - start)) s; installed:"
chroot . dpkg-query -W -f '${Package} ${Version}\n' | sort | comm -13 "$fresh/before" - | cut -d ' ' -f 1 | tr '\n' ' '
echo
echo "files outside of the checkout that are newer than the start:"
find . -xdev -newer tmp/commands -type f ! -path ".$home/gradus/*" ! -path './var/*' ! -path './usr/*' ! -path './etc/*' ! -path './proc/*' ! -path './dev/*'
exit $status
