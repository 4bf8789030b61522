"""What moderators decide, its log, and reports of visitors."""
