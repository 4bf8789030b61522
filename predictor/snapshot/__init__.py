"""Everything that predictions may use, as one read-only set of arrays of one revision."""
