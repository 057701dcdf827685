"""How Citewell is reached. Surfaces know `Citewell` and `Ask`, and not each other."""
