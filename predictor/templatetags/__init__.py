"""Template tags that pages of other applications use."""
