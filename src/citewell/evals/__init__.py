"""Evals and benchmarks over the same engine every surface calls."""
