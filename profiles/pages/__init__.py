"""Pages of platforms, workloads and profiles."""
