#!/bin/sh
# Unpacks what `make test-clusters` needs into the folder named: Debian's SLURM, MUNGE and OpenSSH server, with what they depend
# on, and two Python packages. Nothing is installed, so that no service starts and no account is made.
set -eu
folder=$(realpath --canonicalize-missing "$1")
python=$2
rm -rf "$folder"
mkdir -p "$folder/packages/partial" "$folder/files"
fetch() {
    apt-get install -qq --download-only --reinstall --yes --no-install-recommends \
        -o Dir::Cache::archives="$folder/packages" -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" \
        slurmctld slurmd slurm-client munge openssh-server
}
fetch 2>/dev/null || {
    apt-get update -qq # There is no list yet, or an old one; only root may renew it.
    fetch
}
for package in "$folder"/packages/*.deb; do
    dpkg-deb -x "$package" "$folder/files"
done
# What an older package has put there is the same folder on the machine.
for name in bin sbin lib lib64; do
    if [ -d "$folder/files/$name" ]; then
        mkdir -p "$folder/files/usr/$name"
        cp -a "$folder/files/$name/." "$folder/files/usr/$name/"
    fi
done
# What the installation of a package would have linked.
for name in slurmctld slurmd slurmstepd; do
    [ -e "$folder/files/usr/sbin/$name" ] || ln -s "$name-wlm" "$folder/files/usr/sbin/$name"
done
"$python" -m pip install --quiet --no-deps --target "$folder/python" --requirement requirements/clusters.txt
rm -rf "$folder/packages"
