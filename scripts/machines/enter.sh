#!/usr/bin/env bash
# Runs a command in a root: enter.sh ROOT CACHE FOLDER COMMAND, CACHE being what ccache keeps. roots.mjs starts it in
# namespaces of its own: nobody else sees what is mounted here, and all that was started ends with it. The devices are
# the root's own, so nothing that happens in there reaches this machine's /dev.
set -euo pipefail
root=$1 cache=$2 folder=$3 command=$4

mount -t proc proc "$root/proc"
# What limits the cores and the memory of this machine limits them in there.
mount --rbind /sys "$root/sys"
mount -o remount,bind,ro "$root/sys"
mkdir -p "$root/var/cache/ccache"
mount --bind "$cache" "$root/var/cache/ccache"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
  read -r name major minor <<<"$node"
  mknod -m 666 "$root/dev/$name" c "$major" "$minor"
done
mkdir "$root/dev/shm" "$root/dev/pts"
chmod 1777 "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"

# Without exec: the first process of the namespace is this shell, which also waits for orphans, as init does.
chroot "$root" /bin/bash -c "cd '$folder' && $command"
