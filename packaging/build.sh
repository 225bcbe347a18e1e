#!/bin/sh
# Makes the wheel, the command, the archive, the .deb and the .rpm for this processor, which run with glibc 2.17 and newer, in
# build/packages. `make packages` calls it, with the tools in build/packaging.
set -eu
cd "$(dirname "$0")/.."
arch=$(uname -m)
target=$arch-unknown-linux-gnu
tools=$PWD/build/packaging
packages=build/packages
version=$("$tools/bin/python" packaging/release.py version)
export PATH="$tools/bin:$PATH"
# Files in packages are as old as the commit, so that the same commit makes the same packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH
# Zig brings the headers and stubs of every glibc. What is compiled for it lies apart from what is compiled for this machine.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/packages"

rm -rf $packages
mkdir -p $packages/tree/usr/bin $packages/data
build() { maturin build --release --locked --zig --compatibility manylinux2014 --target "$target" --out "$@"; }
build $packages
# As a wheel too, of which only the program is wanted: so what both need is compiled once, by the same tool with the same settings.
# maturin would take the settings of the other wheel from pyproject.toml: here it finds a smaller one.
mkdir $packages/command
cat >$packages/command/pyproject.toml <<END
[build-system]
requires = ["maturin>=1.16,<2"]
build-backend = "maturin"
[project]
name = "haulage-command"
version = "$version"
[tool.maturin]
bindings = "bin"
manifest-path = "$PWD/crates/haulage-cli/Cargo.toml"
END
(cd $packages/command && build .)
rm -r $packages/command
install -m 755 "$CARGO_TARGET_DIR/$target/release/haul" $packages/tree/usr/bin/haul
"$tools/bin/python" packaging/symbols.py --glibc 2.17 $packages/tree/usr/bin/haul

share=$packages/data/share
mkdir -p $share/bash-completion/completions $share/zsh/site-functions $share/fish/vendor_completions.d
haul=$packages/tree/usr/bin/haul
"$haul" man $share/man/man1
"$haul" completion bash >$share/bash-completion/completions/haul
"$haul" completion zsh >$share/zsh/site-functions/_haul
"$haul" completion fish >$share/fish/vendor_completions.d/haul.fish
"$tools/bin/python" packaging/notices.py $packages/THIRD-PARTY-NOTICES
"$tools/bin/python" packaging/complete_wheel.py $packages/haulage-*.whl $packages/data $packages/THIRD-PARTY-NOTICES
"$tools/bin/python" packaging/release.py notes >$packages/RELEASE-NOTES.md

# The archive: everything in one folder, for those without a package manager.
folder=haulage-$version-$target
mkdir -p "$packages/$folder"
cp -R "$haul" $packages/data/share LICENSE $packages/THIRD-PARTY-NOTICES "$packages/$folder/"
# As they read without the sources and the pages beside them.
"$tools/bin/python" packaging/release.py readme >"$packages/$folder/README.md"
"$tools/bin/python" packaging/release.py changelog >"$packages/$folder/CHANGELOG.md"
pack() { tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$@"; }
pack -C $packages -c "$folder" | gzip -9n >"$packages/$folder.tar.gz"
rm -r "${packages:?}/$folder"

# As a distribution has it: manual pages and the changelog compressed, a file on who owns what.
root=$packages/tree/usr
cp -R $packages/data/share "$root/"
gzip -9n "$root"/share/man/man1/*.1
mkdir -p "$root/share/doc/haulage"
"$tools/bin/python" packaging/release.py changelog | gzip -9n >"$root/share/doc/haulage/changelog.gz"
"$tools/bin/python" packaging/release.py readme >"$root/share/doc/haulage/README.md"
cp LICENSE $packages/THIRD-PARTY-NOTICES "$root/share/doc/haulage/"
cat >"$root/share/doc/haulage/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Haulage
Source: https://github.com/haulage/haulage

Files: *
Copyright: The Haulage developers
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0. What is compiled in has licences of its own:
 THIRD-PARTY-NOTICES in this folder.
END
find $packages/tree -type d -exec chmod 755 {} +
find $packages/tree -type f ! -name haul -exec chmod 644 {} +
chmod 755 $packages/tree/usr/bin/haul
case $arch in
x86_64) ARCH=amd64 ;;
aarch64) ARCH=arm64 ;;
*) ARCH=$arch ;;
esac
export ARCH VERSION="$version"
for form in deb rpm; do
    nfpm package --config packaging/nfpm.yaml --packager $form --target $packages/
done
rm -r $packages/data $packages/tree $packages/THIRD-PARTY-NOTICES
(cd $packages && sha256sum ./*.* | sed 's|  \./|  |' >SHA256SUMS)
ls -l $packages
