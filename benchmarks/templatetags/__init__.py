"""Template filters for uploads."""
