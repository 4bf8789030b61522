#!/bin/sh
# bridge.sh BUILD TARBALL STRESSORS: adds a minute of stress-ng to a results tarball, so that the machine shares
# workloads with the public fleet of servers. Prints a message if the fleet's version is not installed. Never fails.
#
# STRESSORS are those of the fleet's stressors that best predict other workloads (the greedy choice of
# docs/accuracy/few-references.md). Each runs for two seconds at n = 1 and two seconds at all threads.
set -u
build=$1 tarball=$2 stressors=$3
version=0.20.01 servers=1,917  # docs/public-data.md
seconds=2

installed=$(stress-ng --version 2>/dev/null | sed -n 's/.*version \([0-9][0-9.]*\).*/\1/p')
if [ "$installed" != "$version" ]; then
    echo "stress-ng $version, which is not installed${installed:+ (it is $installed)}, would narrow the intervals of" \
        "predictions for $servers servers of the public fleet: then measure again" >&2
    exit 0
fi
echo "a minute of stress-ng relates this machine to $servers servers of the public fleet (skip it with BRIDGE=)" >&2
folder=$build/bridge
rm -rf "$folder"
mkdir -p "$folder"
{
    more=$(sh stress-ng/measure.sh "$build" "$folder" "" "$seconds" "$stressors" none) &&
        sh pack/join.sh "$build" "$tarball" "$more" "$tarball"
} || echo "stress-ng gave no result: the tarball has the kit's results only" >&2
rm -rf "$folder"
exit 0
