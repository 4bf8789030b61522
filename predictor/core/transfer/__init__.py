"""Transfer of evaluated curves: the methods `mpet` and `mpet-log` (docs/method-mpet.md)."""
