"""Code shared by all pages and the API. It imports none of the applications."""
