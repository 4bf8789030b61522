"""The entries that every task is compared with; each module has a class `Entry`."""
