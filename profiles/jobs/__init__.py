"""Work that takes longer than a request: what is left to others (`queue`), and where what is long is computed."""
