#!/bin/sh
# The first process of a machine: lays an empty layer over the root that it is given, so that the next one finds it as it was.
#
#     machine.sh LOWER SCRATCH [FOLDER=PLACE]...     each FOLDER can be read at PLACE
set -eu
lower=$1 scratch=$2
shift 2
mount -t tmpfs tmpfs "$scratch"
mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
root=$scratch/root
for binding in "$@"; do
    place=$root${binding#*=}
    mkdir -p "$place"
    mount --bind "${binding%%=*}" "$place"
    mount -o remount,bind,ro "$place"
done
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || { mkdir -p "$root/dev/shm" && mount -t tmpfs tmpfs "$root/dev/shm"; }
mkdir -p "$root/dev/pts"
mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=0666
ln -sf pts/ptmx "$root/dev/ptmx"
: >"$root/etc/resolv.conf"
echo '127.0.0.1 localhost' >"$root/etc/hosts"
ip link set lo up
# Said from inside: who enters before sees the files of the machine that runs the tests.
exec chroot "$root" /bin/sh -c 'echo ready && exec sleep infinity'
