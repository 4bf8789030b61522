"""Published accuracy: the evaluations, their stored results, and the pages of docs/accuracy/."""
