"""The methods `mpet` and `mpet-log`: whole curves carried over from other platforms (docs/method-mpet.md)."""
