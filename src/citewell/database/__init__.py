"""SQLite underneath every store: opening, migrating, one writer, errors that say what to do."""
