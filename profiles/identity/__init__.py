"""Identity of platforms and workloads: matching descriptions, the parts of a program, the authoritative source of each
field."""
