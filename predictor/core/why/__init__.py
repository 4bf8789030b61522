"""Explanations of an answer: which candidates and elements contribute most, and which measurements would narrow its
interval."""
