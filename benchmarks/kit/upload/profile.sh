# mpet-profile --upload: measures and sends the results. ../mpet-profile sources this file after it has parsed its
# options.

where_to_say="--url https://..."
who_to_say="--token TOKEN, MPET_TOKEN in the environment, or the token in $kit/TOKEN, which only you may read"
how_to_hide="without --public: you alone"
how_to_show="--public: everybody"
. "$kit/upload/server.sh"
. "$kit/upload/results.sh"
. "$kit/upload/sending.sh"

visibility_given=$visibility
visibility=${visibility:-private}
check_visibility "$visibility"
find_server "$url_given"
find_token "$token_given"
[ -n "$token" ] || [ -z "$visibility_given" ] || misused "--public and --private need an account: $who_to_say"
sweep=''

measure_and_send() {
    describe_machine
    say "the results, with names of regions and arguments, are sent to $url, $(audience)"
    if ! has_curl; then
        say "curl is missing: the results stay in $kit/results and are not sent"
    elif [ -z "$token" ] || ! server_knows_machine; then
        bring_sweep
    fi
    said=$("$kit/build/mpet-profile" --results "$kit/results" "$@") || exit $?
    printf '%s\n' "$said"
    tarball=$(printf '%s\n' "$said" | sed -n 's/^[0-9]* regions\{0,1\} of [^ ]* in //p')
    [ -n "$tarball" ] || exit 0
    has_curl || fail "curl is missing, so $tarball is not sent. Upload it in the browser: $url/upload/"
    ended=0
    if [ -z "$token" ]; then
        # Without an account, uploads are not linked to each other, so one upload contains sweep and program.
        joined=${tarball%.tar.gz}-and-kit.tar.gz
        sh "$kit/pack/join.sh" "$kit/build" "$tarball" "$sweep" "$joined" || fail "$sweep cannot be joined with $tarball"
        send "$joined" || ended=$?
        exit $ended
    fi
    [ -z "$sweep" ] || send "$sweep" || ended=$?
    send "$tarball" || ended=$?
    exit $ended
}

# Sets $machine, the machine's name, and $fingerprint, by which the server identifies it.
describe_machine() {
    "$kit/build/mpet-profile" --machine ${name:+"$name"} | awk -f "$kit/upload/json.awk" > "$work/answer"
    machine=$(field .name)
    fingerprint=$(field .fingerprint)
}

# Returns whether the owner of the token has sent results of the kit's workloads on this hardware, under any name.
server_knows_machine() {
    request_patiently --max-time 60 --get --data-urlencode "fingerprint=$fingerprint" "$url/api/v1/platforms/"
    case $code in
        200) ;;
        000 | 5??)
            say "$(problem)"
            say "the results stay in $kit/results, and are sent if the server answers by then"
            return 1
            ;;
        *) fail "$(problem)" ;;
    esac
    slugs=$(awk -F '\t' 'split($1, path, ".") == 4 && path[2] == "results" && path[4] == "slug" { print $2 }' "$work/answer")
    newest=$(newest_sweep "$kit/results" "$fingerprint")
    for slug in $slugs; do
        if server_has "$slug" "$kit_workload" || sweep_is_there "$slug" "$newest"; then return 0; fi
    done
    return 1
}

kit_workload=shared_histogram  # every sweep runs it, unless WORKLOADS names others

# sweep_is_there PLATFORM TARBALL: returns whether a local sweep is also on the server. Only its first and its last
# workload are checked.
sweep_is_there() {
    [ -n "$2" ] || return 1
    tar -xzOf "$2" workloads.json 2> /dev/null | awk -f "$kit/upload/json.awk" |
        awk -F '\t' '$1 ~ /^\.[0-9]+\.name$/ { last = $2; if (!any++) print } END { if (any > 1) print "\t" last }' |
        cut -f 2 > "$work/names"
    [ -s "$work/names" ] || return 1
    while IFS= read -r workload; do
        server_has "$1" "$workload" || return 1
    done < "$work/names"
}

# server_has PLATFORM WORKLOAD: returns whether the server has a profile of it.
server_has() {
    request_patiently --max-time 60 --get --data-urlencode "platform=$1" --data-urlencode "search=$2" \
        --data page_size=1 "$url/api/v1/profiles/"
    [ -n "$(field .results.0.id)" ]
}

# Provides a sweep, which makes this machine comparable with others: one that exists locally but not on the server, or a
# new one with --with-kit.
bring_sweep() {
    sweep=$(newest_sweep "$kit/results" "$fingerprint")
    if [ -n "$sweep" ]; then
        say "$sweep ($(kind_of "$sweep")) is $([ -z "$token" ] || echo 'not on the server: it is ')sent too"
    elif [ -n "$with_kit" ]; then
        say "make quick first: it measures this machine with the kit's workloads, in a minute or two once they are compiled"
        if [ -f "$kit/measure" ]; then
            "$kit/measure" quick ${name:+--name "$name"} >&2 || fail "measure quick failed"
        else
            make -C "$kit" quick ${name:+"NAME=$name"} >&2 || fail "make quick failed"
        fi
        sweep=$(newest_sweep "$kit/results" "$fingerprint")
        [ -n "$sweep" ] || fail "the kit left no results in $kit/results"
    else
        say "the server has no kit results of this machine, $machine, so little is known of how others compare with it: run" \
            "make quick once, a minute or two after compiling, or use --with-kit, which runs it first"
    fi
}
