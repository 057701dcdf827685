"""What each kind of run does, from top to bottom."""
