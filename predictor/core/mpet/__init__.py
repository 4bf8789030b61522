"""The method `mpet`: whole curves carried over from other platforms (docs/method-mpet.md)."""
