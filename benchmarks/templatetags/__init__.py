"""Template tags of uploads."""
