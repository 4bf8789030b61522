"""The method of the paper, `mpet2020` (docs/method.md): candidates by distances, penalty-weighted interpolation."""
