"""How right predictions are: evaluations, what later measurements say, outliers."""
