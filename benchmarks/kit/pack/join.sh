#!/bin/sh
# join.sh BUILD FIRST SECOND TARBALL: joins two results tarballs of one machine. Writes FIRST with the workloads of
# SECOND added to TARBALL, which may be FIRST or SECOND.
set -u
build=$1 first=$2 second=$3 tarball=$4
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/first" "$work/second" && tar xzf "$first" -C "$work/first" && tar xzf "$second" -C "$work/second" || exit 1
into=$(dirname "$(find "$work/first" -name runs.csv)") from=$(dirname "$(find "$work/second" -name runs.csv)")

# The two tables may have different columns. The joined table has the columns of both, with empty fields where a row has
# no value.
for table in runs.csv counters.csv; do
    [ -f "$from/$table" ] || continue
    [ -f "$into/$table" ] || sed 1q "$from/$table" > "$into/$table"
    awk -F, '{ sub(/\r$/, "") }
        pass == 1 { if (FNR == 1) for (i = 1; i <= NF; i++) if (!seen[$i]++) name[++count] = $i; next }
        FNR == 1 {
            split("", at)
            for (i = 1; i <= NF; i++) at[$i] = i
            if (is_headed++) next
        }
        {
            row = FNR == 1 ? name[1] : $(at[name[1]])
            for (i = 2; i <= count; i++) row = row "," (FNR == 1 ? name[i] : name[i] in at ? $(at[name[i]]) : "")
            print row
        }' pass=1 "$into/$table" "$from/$table" pass=2 "$into/$table" "$from/$table" > "$work/table" || exit 1
    mv "$work/table" "$into/$table"
done
# Concatenate two JSON lists: remove the last bracket of the first and the first bracket of the second.
{ sed '$ s/][[:space:]]*$//' "$into/workloads.json"; echo ,; sed '1 s/^[[:space:]]*\[//' "$from/workloads.json"; } \
    > "$work/workloads.json" || exit 1
mv "$work/workloads.json" "$into/workloads.json"
rm -f "$into/manifest.json"
"$build/mpet-pack" "$into" "$work/joined.tar.gz" && mv "$work/joined.tar.gz" "$tarball"
