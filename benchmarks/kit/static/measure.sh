#!/bin/sh
# measure stress-ng, or measure [quick|full|sizes] [--name NAME] [--threads 1,2,4] [--workloads "hog sgm"]: measures
# this machine with the precompiled programs in build/, and needs neither a compiler nor make. quick, full, sizes and
# stress-ng measure the same as the targets quick, all, sizes and stress-ng of the kit's Makefile.
set -eu
cd "$(dirname "$(readlink -f "$0")")"
what=quick
case ${1:-} in
    quick | full | sizes | stress-ng) what=$1 && shift ;;
esac
built=$(LC_ALL=C od -A n -t u1 -j 18 -N 1 build/mpet-topology | tr -d ' ') # e_machine of ELF: 62 x86-64, 183 AArch64
case $built,$(uname -m) in
    62,x86_64 | 183,aarch64) ;;
    *) echo "measure: these programs are for another architecture than $(uname -m)." >&2 && exit 1 ;;
esac
if [ "$built" = 62 ] && ! grep -qw avx2 /proc/cpuinfo; then
    echo "measure: these programs need AVX2, which this processor does not have. Build the kit from its sources." >&2
    exit 1
fi
if [ "$what" = stress-ng ]; then
    tarball=$(sh stress-ng/measure.sh build results "${NAME:-}" "${SECONDS_EACH:-3}" "$(cat stress-ng/stressors)")
else
    case $what in
    quick) set -- --scale quick --repeats 1 "$@" ;;
    full) set -- --scale full --repeats 3 "$@" ;;
    sizes) set -- --scale full --sizes --repeats 5 "$@" ;;
    esac
    tarball=$(build/mpet-sweep --bin build --results results "$@")
    bridge=${BRIDGE-$(cat stress-ng/bridge)}
    [ "$what" != quick ] || [ -z "$bridge" ] || sh stress-ng/bridge.sh build "$tarball" "$bridge"
fi
echo "Results: $tarball"
echo "Upload them in the browser, or with: URL=$(cat SERVER 2>/dev/null || echo https://...) TOKEN=<your token> sh upload/upload.sh results $tarball"
