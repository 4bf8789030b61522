"""Curves from runs, and feature vectors from curves: Table 1 and Eq. 3-9 on numpy arrays, without the web."""
