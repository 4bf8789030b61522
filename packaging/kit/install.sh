#!/bin/sh
# install.sh PREFIX: installs the kit's sources and the command mpet-kit. The recipes for conda and Spack call it.
set -e
repository=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/share/mpet-kit" "$1/bin"
cd "$repository/benchmarks/kit"
for each in *; do
    case $each in build | results | SERVER | TOKEN) ;; *) cp -R "$each" "$1/share/mpet-kit/" ;; esac
done
install -m 755 "$repository/packaging/kit/mpet-kit" "$1/bin/mpet-kit"
