"""The pages about predictions: views, forms and what their templates read."""
