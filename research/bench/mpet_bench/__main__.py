"""Entry point of `python -m mpet_bench`, the same as the script `mpet-bench`."""

import sys

from mpet_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
