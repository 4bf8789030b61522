"""Which profiles a comparison looks at, and what is most alike."""
