"""What the engine knows of English words: roots, synonyms, opposites, verb forms. Data, and look-ups."""
