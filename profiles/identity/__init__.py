"""Which descriptions mean the same platform or workload, and which source is authoritative for each field."""
