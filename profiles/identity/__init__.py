"""Identity of platforms and workloads: matching, programs and their parts, and the authoritative source of each
field."""
