"""Models of one curve compared: with each other, with Extra-P, and on what their papers measured."""
