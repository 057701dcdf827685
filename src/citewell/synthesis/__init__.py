"""From evidence to an answer: packing, extracting, verifying. Pure."""
