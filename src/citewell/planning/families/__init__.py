"""Question families: one file of data each, one table, one small engine."""
