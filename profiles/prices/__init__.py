"""Prices of machines: read from files of others, stored, and which of them hold for a user."""
