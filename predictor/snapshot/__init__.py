"""Snapshots: everything that predictions may use, as read-only arrays of one revision."""
