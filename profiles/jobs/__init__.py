"""Work that takes longer than a request: the queue of background work, and executors of long computations."""
