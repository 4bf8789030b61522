"""Why an answer is as it is, and what would make it surer: which candidates and elements carried it, as numpy."""
