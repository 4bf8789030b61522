"""Commands about predictions, and the code that they share."""
