"""Research written back into notes: topics, the section and its place in the file, the safe write."""
