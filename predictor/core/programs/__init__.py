"""Whole programs: the sum of their parallel regions and of what one thread does alone."""
