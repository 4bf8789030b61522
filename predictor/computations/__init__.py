"""Long computations: requested by users, run in the background, and shared by all users with the same question."""
