"""Template tags for pages of all applications."""
