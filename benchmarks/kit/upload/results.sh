# What is in results/; read by upload.sh and ../mpet-profile after server.sh.

# The tarballs of the folder $1, the newest first.
tarballs() { ls -t "$1"/mpet-*.tar.gz 2> /dev/null; }

# A value of a member of a tarball: value_in TARBALL platform.json .name
value_in() {
    tar -xzOf "$1" "$2" 2> /dev/null | awk -f "$kit/upload/json.awk" |
        path="$3" awk -F '\t' '$1 == ENVIRON["path"] { print $2; exit }'
}

# How a tarball was made.
kind_of() {
    case $(value_in "$1" environment.json .scale) in
        '') echo "mpet-profile" ;;
        quick) echo "make quick" ;;
        full) echo "make" ;;
        *) echo "of a test" ;;
    esac
}

is_sweep() {
    case $(value_in "$1" environment.json .scale) in quick | full) return 0 ;; esac
    return 1
}

# The newest sweep by the kit in the folder $1 of the machine with the fingerprint $2; nothing where there is none.
newest_sweep() {
    tarballs "$1" | while IFS= read -r tarball; do
        if is_sweep "$tarball" && [ "$(value_in "$tarball" platform.json .fingerprint)" = "$2" ]; then
            printf '%s\n' "$tarball"
            break
        fi
    done
}
