# Sends a tarball, waits until the server has processed it, and prints where to look. Sourced after server.sh and
# results.sh.

# Returns 0 if the server accepted the tarball, 3 if it has not finished yet, and 1 otherwise.
send() {
    say "sending $1 ($(kind_of "$1")) to $url, $(audience)"
    if [ -n "$token" ]; then
        request_patiently --max-time 900 -F "file=@\"$1\"" -F "visibility=$visibility" \
            ${LICENCE:+-F "licence=$LICENCE"} "$url/api/v1/uploads/"
    else
        request_patiently --max-time 900 -F "file=@\"$1\"" "$url/api/v1/quarantine/"
    fi
    case $code in
        200 | 201 | 202) ;;
        *)
            if [ -z "$token" ] && [ "$code" = 404 ]; then
                say "$url requires an account: $who_to_say"
            else
                say "$(problem)"
            fi
            later="make upload TARBALL=$1"
            [ -n "$token" ] || later="$url/upload/"
            say "$1 is kept; to send it later: $later"
            return 1
            ;;
    esac
    if [ -n "$token" ]; then
        id=$(field .id)
        asked="$url/api/v1/uploads/$id/" page="$url/uploads/$id/"
    else
        asked=$(field .url) page=$(field .page)
    fi
    await && report
}

audience() {
    case ${token:+$visibility} in
        '') echo "without an account: readable by anyone with the link" ;;
        public) echo "public: readable by everyone ($how_to_hide)" ;;
        private) echo "private: readable by you only ($how_to_show)" ;;
    esac
}

# Requests the upload at $asked repeatedly until it is accepted or rejected.
await() {
    begin_to_wait
    became=$(field .status)
    while [ "$became" != accepted ] && [ "$became" != rejected ]; do
        if ! wait_a_little; then
            say "the server has not finished reading it; report: $page"
            return 3
        fi
        request --max-time 60 "$asked"
        case $code in
            200) became=$(field .status) ;;
            000 | 429 | 5??) ;;
            *)
                say "$(problem)"
                return 1
                ;;
        esac
    done
}

report() {
    if [ "$became" = rejected ]; then
        say "the server rejected it:"
        errors | shortly >&2
        printf 'Report: %s\n' "$page"
        return 1
    fi
    say "accepted${token:+: $(fields '\.profiles\.[0-9]+' | wc -l | tr -d ' ') profiles}"
    fields '\.report\.warnings\.[0-9]+' | sed 's/^/  warning: /' | shortly >&2
    links
}

# Prints one line per error: its member and line, if present, and the reason.
errors() {
    awk -F '\t' '
        $1 ~ /^\.report\.errors\.[0-9]+\.(member|line)$/ && $2 != "null" { where = where $2 ": " }
        $1 ~ /^\.report\.errors\.[0-9]+\.reason$/ { print "  " where $2; where = "" }
    ' "$work/answer"
}

# Prints the first six lines, and the number of further lines.
shortly() {
    awk -v page="$page" '
        NR <= 6 { print }
        END { if (NR > 6) print "  and " NR - 6 " more: " page }
    '
}

# Prints the pages of the programs that were sent, or the page of the upload if there are none.
links() {
    if [ -z "$token" ]; then
        expires=$(field .expires_at)
        printf 'The program on all machines: %s\n' "$page"
        printf 'Anyone with this link can see the results. They are deleted on %s unless you claim them there with an account.\n' \
            "${expires%%T*}"
        return
    fi
    programs=$(awk -F '\t' '
        $1 ~ /^\.programs\.[0-9]+\.name$/ { name = $2 }
        $1 ~ /^\.programs\.[0-9]+\.url$/ { print name "\t" $2 }
    ' "$work/answer")
    if [ -z "$programs" ]; then
        printf 'Report: %s\n' "$page"
        return
    fi
    printf '%s\n' "$programs" | while IFS='	' read -r name page; do
        printf '%s on all machines, the fastest first: %s\n' "$name" "$page"
    done
}
