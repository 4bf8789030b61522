"""The Django project: settings, root URLconf, and in `web/` the code shared by all pages and the API."""

import gc

# Collect garbage less often than after every 700 new objects (the default). Nearly all objects that imports create are
# kept, and collecting that often takes a tenth of the start-up time.
gc.set_threshold(10_000, 10, 10)
