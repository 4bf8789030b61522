"""What a workload would take on a machine where nobody has run it."""
