"""From a question to queries: normalising, concepts, variants."""
