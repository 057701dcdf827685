"""Forward-only scripts for `corpus.db`, run in the order of their names."""
