"""The one way in: a delivery is stored, published and withdrawn."""
