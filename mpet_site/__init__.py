"""The site: its settings and addresses, and in `web/` what pages and API are built with."""

import gc

# Nearly all that imports make stays. To look for garbage after every 700 objects takes a tenth of a start.
gc.set_threshold(10_000, 10, 10)
