"""The accuracy of predictions: evaluations, comparisons with later measurements, and outliers."""
