"""Runs: the journal they are played from, who executes them, and what is kept of them."""
