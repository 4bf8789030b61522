"""Pages about predictions: views, forms and template contexts."""
