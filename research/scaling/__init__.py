"""Comparison of models of one curve: with each other, with Extra-P, and on the measurements of their papers."""
