"""The evaluations of papers/000, 002 and 003 on measured runs: their questions, asked of anybody's measurements."""
