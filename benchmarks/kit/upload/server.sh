# The kit's requests to the server. Sourced by upload.sh and ../mpet-profile, which have set $kit and $self (their
# name). Uses POSIX sh, curl and awk. The token is passed to curl on standard input, so that it does not appear on a
# command line.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '%s: %s\n' "$self" "$*" >&2; }
fail() { say "$@"; exit 1; }
misused() { say "$@"; exit 2; }

has_curl() { command -v curl > /dev/null 2>&1; }

# ---- server and token

# Sets $url to the server's address without a trailing slash: $1, or else the server the kit came from.
find_server() {
    url=$1
    if [ -z "$url" ] && [ -f "$kit/SERVER" ]; then url=$(sed -n 1p "$kit/SERVER"); fi
    while [ "${url%/}" != "$url" ]; do url=${url%/}; done
    case $url in
        http://?* | https://?*) ;;
        '') misused "no server is set: name one with $where_to_say" ;;
        *) misused "$url is not a server's URL, which begins with https:// or http://" ;;
    esac
}

# Sets $token to $1, or else MPET_TOKEN, or else the first line of the kit's file TOKEN, which must not be readable by
# others. With $tokenless it may be missing. The token is removed from the environment of all programs started later.
find_token() {
    token=${1:-${MPET_TOKEN:-}}
    unset MPET_TOKEN TOKEN
    if [ -z "$token" ] && [ -f "$kit/TOKEN" ]; then
        case $(ls -lL "$kit/TOKEN") in
            -???------*) token=$(sed -n 1p "$kit/TOKEN") ;;
            *) misused "others can read $kit/TOKEN: chmod 600 $kit/TOKEN" ;;
        esac
    fi
    case $token in
        '') [ -n "${tokenless:-}" ] || misused "no token is set: $who_to_say; create one at $url/tokens/" ;;
        *[!A-Za-z0-9_.~+/=-]*) misused "the token contains invalid characters" ;;
    esac
}

check_visibility() {
    case $1 in
        public | private) ;;
        *) misused "'$1' is neither public nor private" ;;
    esac
}

# ---- requests

# Calls curl with the arguments. Sets $code (000: no answer), and writes the response, converted by json.awk to lines,
# to $work/answer.
request() {
    : > "$work/headers"
    : > "$work/body"
    code=$(printf '%s\n' "${token:+header = \"Authorization: Bearer $token\"}" |
        curl --silent --show-error --config - --connect-timeout 20 --header 'Accept: application/json' \
            --dump-header "$work/headers" --output "$work/body" --write-out '%{http_code}' "$@" 2> "$work/error") || :
    code=${code:-000}
    awk -f "$kit/upload/json.awk" "$work/body" > "$work/answer"
}

# field .status: prints the value at a path of the answer.
field() {
    path="$1" awk -F '\t' '$1 == ENVIRON["path"] { print $2; exit }' "$work/answer"
}

# Prints the values at the paths that match a regular expression.
fields() {
    path="^$1\$" awk -F '\t' '$1 ~ ENVIRON["path"] { print $2 }' "$work/answer"
}

header() {
    tr -d '\r' < "$work/headers" | awk -v name="$1:" 'tolower($1) == name { value = $2 } END { print value }'
}

# Prints why the last request failed.
problem() {
    case $code in
        000) sed -n 's/^curl: *//p' "$work/error" ;;
        3??) printf '%s\n' "$url redirects to $(header location): use that URL" ;;
        401 | 403) printf '%s\n' "$url rejects this token ($(field .detail)); create one at $url/tokens/" ;;
        *) printf '%s\n' "$url answers $code: $(field .title) $(field .detail)" ;;
    esac
}

# ---- waiting

patience_s=${MPET_UPLOAD_PATIENCE:-600}
case $patience_s in *[!0-9]*) patience_s=600 ;; esac

begin_to_wait() {
    waited_s=0
    pause_s=1
}

# Sleeps for the time that the server requests (429, 503), or else twice as long as the last time, up to 15 s. Returns
# false when the total waiting time is used up.
wait_a_little() {
    next_s=$pause_s
    case $code in
        429 | 503)
            asked_s=$(header retry-after)
            case $asked_s in '' | 0 | *[!0-9]*) ;; *) next_s=$asked_s ;; esac
            ;;
    esac
    [ $((waited_s + next_s)) -le "$patience_s" ] || return 1
    sleep "$next_s"
    waited_s=$((waited_s + next_s))
    pause_s=$((pause_s * 2))
    [ "$pause_s" -le 15 ] || pause_s=15
}

# Like request(), but repeats the request while the server is busy.
request_patiently() {
    begin_to_wait
    while request "$@" && { [ "$code" = 429 ] || [ "$code" = 503 ]; }; do
        say "$url is busy; trying again"
        wait_a_little || break
    done
}
