"""The commands themselves, a module for each."""
