"""Runs: a pure machine decides, a driver acts, one log remembers."""
