"""Which descriptions mean the same platform or workload, which workloads are the parts of a program, which source is
authoritative for each field."""
