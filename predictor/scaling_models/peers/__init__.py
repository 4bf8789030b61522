"""Other people's extrapolators, each run in an environment of its own."""
