"""What all pages and the whole API are built with. It knows none of the applications."""
