"""How the engine is reached. Surfaces know the Engine and not each other."""
