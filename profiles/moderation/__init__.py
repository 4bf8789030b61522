"""What moderators decide, and its log."""
