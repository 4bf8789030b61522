# Finds the tarballs in results/. upload.sh and ../mpet-profile source this file after server.sh.

# Prints the tarballs of the folder $1, the newest first.
tarballs() { ls -t "$1"/mpet-*.tar.gz 2> /dev/null; }

# value_in TARBALL platform.json .name: prints a value from a member of a tarball.
value_in() {
    tar -xzOf "$1" "$2" 2> /dev/null | awk -f "$kit/upload/json.awk" |
        path="$3" awk -F '\t' '$1 == ENVIRON["path"] { print $2; exit }'
}

# Prints the command that produced a tarball.
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

# Prints the newest sweep of the kit in the folder $1 on the machine with the fingerprint $2, or nothing.
newest_sweep() {
    tarballs "$1" | while IFS= read -r tarball; do
        if is_sweep "$tarball" && [ "$(value_in "$tarball" platform.json .fingerprint)" = "$2" ]; then
            printf '%s\n' "$tarball"
            break
        fi
    done
}
