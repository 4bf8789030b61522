# How the kit speaks to the server; read by upload.sh and ../mpet-profile, which have set $kit and $self, their name.
# POSIX sh, curl and awk. The token reaches curl on its standard input: no command line shows it.

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '%s: %s\n' "$self" "$*" >&2; }
fail() { say "$@"; exit 1; }
misused() { say "$@"; exit 2; }

has_curl() { command -v curl > /dev/null 2>&1; }

# ---- who and where

# The server's address without a slash at its end: $1, else that of the server the kit came from.
find_server() {
    url=$1
    if [ -z "$url" ] && [ -f "$kit/SERVER" ]; then url=$(sed -n 1p "$kit/SERVER"); fi
    while [ "${url%/}" != "$url" ]; do url=${url%/}; done
    case $url in
        http://?* | https://?*) ;;
        '') misused "this kit does not know a server: say where to send results, with $where_to_say" ;;
        *) misused "$url is not the address of a server: it begins with https:// or http://" ;;
    esac
}

# The token: $1, else MPET_TOKEN, else the first line of the kit's file TOKEN, which nobody else may read; with
# $tokenless it may be missing. No program that is started from here on finds it in its environment.
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
        '') [ -n "${tokenless:-}" ] || misused "say who you are: $who_to_say; tokens are made at $url/tokens/" ;;
        *[!A-Za-z0-9_.~+/=-]*) misused "that is not a token: it has characters that no token has" ;;
    esac
}

check_visibility() {
    case $1 in
        public | private) ;;
        *) misused "'$1' is neither public nor private" ;;
    esac
}

# ---- requests

# curl with the arguments. Sets $code (000: no answer) and writes what came back as lines of json.awk to $work/answer.
request() {
    : > "$work/headers"
    : > "$work/body"
    code=$(printf '%s\n' "${token:+header = \"Authorization: Bearer $token\"}" |
        curl --silent --show-error --config - --connect-timeout 20 --header 'Accept: application/json' \
            --dump-header "$work/headers" --output "$work/body" --write-out '%{http_code}' "$@" 2> "$work/error") || :
    code=${code:-000}
    awk -f "$kit/upload/json.awk" "$work/body" > "$work/answer"
}

# The value at a path of the answer: field .status
field() {
    path="$1" awk -F '\t' '$1 == ENVIRON["path"] { print $2; exit }' "$work/answer"
}

# The values at the paths that a regular expression describes.
fields() {
    path="^$1\$" awk -F '\t' '$1 ~ ENVIRON["path"] { print $2 }' "$work/answer"
}

header() {
    tr -d '\r' < "$work/headers" | awk -v name="$1:" 'tolower($1) == name { value = $2 } END { print value }'
}

# Why the last request was not answered as it should have been.
problem() {
    case $code in
        000) sed -n 's/^curl: *//p' "$work/error" ;;
        3??) printf '%s\n' "$url sends on to $(header location): say that address" ;;
        401 | 403) printf '%s\n' "$url does not take this token ($(field .detail)); tokens are made at $url/tokens/" ;;
        *)
            printf '%s\n' "$url answers $code: $(field .title) $(field .detail)"
            fields '\.(errors|invalid_params)\.[0-9]+\.(name|reason)'
            ;;
    esac
}

# ---- patience

patience_s=${MPET_UPLOAD_PATIENCE:-600}
case $patience_s in *[!0-9]*) patience_s=600 ;; esac

begin_to_wait() {
    waited_s=0
    pause_s=1
}

# Sleeps as long as the server asks for (429, 503), else twice as long as the last time, up to 15 s. False once all
# patience is spent.
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

# As request(), again and again while the server is busy.
request_patiently() {
    begin_to_wait
    while request "$@" && { [ "$code" = 429 ] || [ "$code" = 503 ]; }; do
        say "$url is busy; trying again"
        wait_a_little || break
    done
}
