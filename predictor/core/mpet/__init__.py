"""The method `mpet`, which transfers whole curves from other platforms (docs/method-mpet.md)."""
