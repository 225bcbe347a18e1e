#!/bin/sh
# Unpacks Debian's nginx into the folder named, without installing it, so that no service starts.
set -eu
folder=$1
rm -rf "$folder"
mkdir -p "$folder/packages"
cd "$folder/packages"
apt-get download -qq nginx libnginx-mod-http-headers-more-filter 2>/dev/null || {
    apt-get update -qq # There is no list yet, or an old one; only root may renew it.
    apt-get download -qq nginx libnginx-mod-http-headers-more-filter
}
for package in *.deb; do
    dpkg-deb -x "$package" ..
done
../usr/sbin/nginx -v
