#!/bin/sh
# Runs stress-ng as the public fleets do, and packs its results:
# measure.sh BUILD RESULTS NAME SECONDS STRESSORS [THREADS of cpu-div16, "none" leaves it out]
#
# cpu-div16 (--cpu n --cpu-method div16) runs at every thread count of a sweep, each other stressor at n = 1 and at all
# threads. n is the number of independent copies. The time is that of 1,000,000 bogo operations by all copies together.
# Bogo operations of two versions of stress-ng are not the same work, so each workload includes the version.
set -eu
build=$1 results=$2 name=$3 seconds=$4 stressors=$5 div16=${6:-}

command -v stress-ng >/dev/null || { echo "stress-ng is not installed (Debian, Ubuntu: apt install stress-ng)." >&2; exit 1; }
version=$(stress-ng --version | sed -n 's/.*version \([0-9][0-9.]*\).*/\1/p')
[ -n "$version" ] || { echo "stress-ng does not print its version." >&2; exit 1; }

folder=$build/stress-ng
rm -rf "$folder"
mkdir -p "$folder" "$results"
log=$folder/log.txt
threads=$("$build/mpet-topology" --threads | tr ',' ' ')
all=$(printf '%s\n' $threads | tail -n 1)
[ "$div16" ] || div16=$threads
[ "$div16" != none ] || div16=
echo "stress-ng $version, n = 1 and $all, $seconds s each${div16:+; cpu-div16 at n = $(echo $div16)}" | tee "$log" >&2

# rate OPTIONS...: prints bogo operations per second of real time, or nothing if the stressor failed or is unknown.
rate() {
    stress-ng --metrics --timeout "${seconds}s" --temp-path "$folder" "$@" 2>&1 | tee -a "$log" |
        awk -v name="${1#--}" '
            # Other metrics have words in this column.
            function counts(text) { return text ~ /^[0-9.]+$/ && text + 0 > 0 }
            /metrc:/ && $4 == name && counts($5) && counts($9) { print $9; exit }'
}

row() { # workload n rate
    awk -v workload="$1" -v n="$2" -v rate="$3" \
        'BEGIN { printf "stress-ng/%s,%d,1,clean,%.0f,,,,,,,,\n", workload, n, 1e15 / rate }'
}

: > "$folder/rows"
measure() { # workload n options...
    workload=$1 n=$2
    shift 2
    found=$(rate "$@")
    if [ -n "$found" ]; then
        row "$workload" "$n" "$found" >> "$folder/rows"
        echo "  $workload n = $n: $found bogo operations/s" >&2
    else
        echo "  $workload n = $n: no result, left out" >&2
    fi
}

for n in $div16; do measure cpu-div16 "$n" --cpu "$n" --cpu-method div16; done
for stressor in $stressors; do
    measure "$stressor" 1 --"$stressor" 1
    [ "$all" = 1 ] || measure "$stressor" "$all" --"$stressor" "$all"
done

# Leave out workloads without n = 1, because they have no t(1).
awk -F, '$2 == 1 { known[$1] = 1 } { row[NR] = $0; of[NR] = $1 }
    END { for (i = 1; i <= NR; i++) if (of[i] in known) print row[i] }' "$folder/rows" > "$folder/kept"
[ -s "$folder/kept" ] || { echo "No stressor gave a result; see $log." >&2; exit 1; }
{
    echo "workload,n,repeat,pass,time_ns,use_ns,lock_ns,imbalance_ns,creation_ns,distribution_ns,switching_ns,join_ns,output_checksum"
    cat "$folder/kept"
} > "$folder/runs.csv"
cut -d, -f1 "$folder/kept" | awk -v version="$version" '!seen[$0]++ {
        section = substr($0, length("stress-ng/") + 1)
        printf "%s{\"name\": \"%s\", \"application\": \"stress-ng\", \"section\": \"%s\", \"strategy\": \"unknown\", ", \
            count++ ? ",\n " : "[", $0, section
        printf "\"runtime\": \"processes\", \"input\": \"1000000 bogo operations\", \"version\": \"%s\", ", version
        printf "\"bound\": null, \"description\": \"independent copies; the time of all operations by all copies\"}"
    } END { print "]" }' > "$folder/workloads.json"
if [ -n "$name" ]; then
    "$build/mpet-topology" --name "$name" > "$folder/platform.json"
else
    "$build/mpet-topology" > "$folder/platform.json"
    name=$(hostname)
fi
tarball=$results/$("$build/mpet-pack" --name "$name-stress-ng").tar.gz
rm "$folder/rows" "$folder/kept"
"$build/mpet-pack" --generator "stress-ng $version by mpet-kit" "$(cat VERSION)" "$folder" "$tarball"
echo "$tarball"
