"""The record of runs: one append-only log that every rendering, replay and resume is made from."""
