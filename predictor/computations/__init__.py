"""What takes longer than a request may: asked for in it, computed behind it, once for all who ask."""
