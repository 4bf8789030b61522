"""Predictions: from a request to a stored answer, with confidence, explanations, remedies and rankings."""
