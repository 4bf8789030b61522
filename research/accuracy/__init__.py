"""The published accuracy: which evaluations are made, their stored results, and the pages of docs/accuracy/."""
