"""Predictions of the time of a workload on a machine where it has not been run."""
