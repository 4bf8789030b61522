# Reads lines "build<TAB>kernel<TAB>threads<TAB>without the kit<TAB>with it", and prints ratios of the shortest times.
BEGIN { FS = "\t" }
{
    key = $2 "\t" $3
    if (!(key in plain)) order[++kernels] = key
    if (!(key in plain) || $4 < plain[key]) plain[key] = $4
    if (!(($1, key) in kit) || $5 < kit[$1, key]) kit[$1, key] = $5
}
END {
    printf "%-32s %7s %14s %14s\n", "kernel", "threads", "clean / no kit", "profile / clean"
    for (i = 1; i <= kernels; i++) {
        split(order[i], part, "\t")
        against = part[2] == 1 ? sprintf("%.3f", kit["clean", order[i]] / plain[order[i]]) : "-"
        printf "%-32s %7d %14s %14.3f\n", part[1], part[2], against, kit["profile", order[i]] / kit["clean", order[i]]
    }
}
