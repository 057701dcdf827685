"""Values and protocols every other layer speaks in. No I/O happens here."""
