"""Prices of machines: import from other sources, storage, and the choice of the prices for a user."""
