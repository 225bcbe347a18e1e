#!/bin/sh
# Runs a command as root of what looks like a machine of its own: with SLURM, MUNGE and sshd as unpacked by cluster-packages.sh,
# a network that has only itself, five host names (head, node1 to node4), and processes that end with it. What is written to
# /etc, /usr and /run is gone afterwards, and the machine never sees it.
#
#     own-machine.sh FOLDER COMMAND [ARGUMENT...]
set -eu
# Only the first process of a machine may change what is mounted.
if [ "${HAULAGE_OWN_MACHINE:-}" != 1 ] || [ "$$" != 1 ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "a machine of its own needs root" >&2
        exit 97
    fi
    export HAULAGE_OWN_MACHINE=1
    exec unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc sh "$0" "$@"
fi
folder=$(realpath "$1")
shift

# /run is new, and what is written to the others goes there too.
mount -t tmpfs tmpfs /run
for name in usr etc; do
    mkdir -p "/run/written/$name" "/run/work/$name"
    mount -t overlay overlay \
        -o "lowerdir=$folder/files/$name:/$name,upperdir=/run/written/$name,workdir=/run/work/$name" "/$name"
done
mkdir -p /run/sshd /run/munge
grep -q '^sshd:' /etc/passwd || echo 'sshd:x:65530:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd

# Addresses that are not 127.*: where a machine has no others, names are not looked up.
ip link set lo up
echo '127.0.0.1 localhost' >/etc/hosts
number=0
for name in head node1 node2 node3 node4; do
    number=$((number + 1))
    ip address add "192.0.2.$number/24" dev lo
    echo "192.0.2.$number $name" >>/etc/hosts
done
hostname head
exec "$@"
