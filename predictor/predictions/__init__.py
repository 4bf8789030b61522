"""From a request to a stored prediction, and what is said about it."""
