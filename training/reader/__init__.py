"""The reader: a small cross-encoder, trained, measured and exported."""
