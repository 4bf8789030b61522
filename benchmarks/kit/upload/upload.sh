#!/bin/sh
# upload.sh RESULTS [TARBALL]: sends a tarball, by default the newest in the folder RESULTS, waits, and prints where to
# look. `make upload` calls it with URL, VISIBILITY, LICENCE and TOKEN in the environment.
self=upload
kit=$(dirname "$(dirname "$(readlink -f "$0")")")
where_to_say="URL=https://..."
who_to_say="make upload TOKEN=..., MPET_TOKEN in the environment, or the token in a file TOKEN here that only you may read"
how_to_hide="VISIBILITY=private: you alone"
how_to_show="VISIBILITY=public: everybody"
. "$kit/upload/server.sh"
. "$kit/upload/results.sh"
. "$kit/upload/sending.sh"

newest_of() {
    found=$(tarballs "$1")
    tarball=$(printf '%s\n' "$found" | sed -n 1p)
    [ -n "$tarball" ] || misused "no results in $1: run make first"
    next=$(printf '%s\n' "$found" | sed -n 2p)
    [ -n "$next" ] || return
    say "$tarball is the newest of $(printf '%s\n' "$found" | wc -l | tr -d ' ') tarballs in $1"
    say "to send another: make upload TARBALL=$next ($(kind_of "$next"))"
}

results=$1
tarball=$2
visibility=${VISIBILITY:-}
check_visibility "$visibility"
find_server "${URL:-}"
[ -n "$tarball" ] || newest_of "$results"
[ ! -d "$tarball" ] || misused "$tarball is a folder: TARBALL must be a results tarball, such as results/mpet-NAME.tar.gz"
[ -r "$tarball" ] || misused "$tarball: no such file"
has_curl || fail "curl is missing, so $tarball is not sent. Upload it in the browser: $url/upload/"
find_token "${TOKEN:-}"
send "$tarball"
