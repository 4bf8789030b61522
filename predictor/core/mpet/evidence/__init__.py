"""What the profiles of a database say about A on T: curves on one grid of thread counts, tables, metadata, outliers."""
