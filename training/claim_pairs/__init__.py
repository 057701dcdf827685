"""Claims with a passage and a label, built so that only reading tells the label."""
