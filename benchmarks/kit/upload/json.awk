# Prints each value of a JSON document as a line: path, tab, value. {"a": [true, "b c"]} is ".a.0	true", ".a.1	b c".
{ rest = rest $0 " " }

END {
    next_token()
    write_value("")
}

function next_token() {
    sub(/^[ \t\r]+/, "", rest)
    if (match(rest, /^"([^"\\]|\\.)*"/) || match(rest, /^[-+.0-9A-Za-z]+/) || match(rest, /^[^"]/)) {
        token = substr(rest, 1, RLENGTH)
        rest = substr(rest, RLENGTH + 1)
    } else {
        token = ""
    }
}

function write_value(path) {
    if (token == "{") write_members(path, "}")
    else if (token == "[") write_members(path, "]")
    else if (token != "") print path "\t" plain(token)
}

function write_members(path, end,    name, count) {
    next_token()
    for (count = 0; token != end && token != ""; count++) {
        name = count
        if (end == "}") {
            name = plain(token)
            next_token()
            next_token()
        }
        write_value(path "." name)
        next_token()
        if (token == ",") next_token()
    }
}

# Returns a string without its quotes and escapes. Characters that are not printable become spaces.
function plain(text,    out, i, c) {
    if (substr(text, 1, 1) != "\"") return text
    text = substr(text, 2, length(text) - 2)
    while (i = index(text, "\\")) {
        c = substr(text, i + 1, 1)
        out = out substr(text, 1, i - 1) (index("\"\\/", c) ? c : " ")
        text = substr(text, i + (c == "u" ? 6 : 2))
    }
    out = out text
    gsub(/[\001-\037\177]/, " ", out)
    return out
}
