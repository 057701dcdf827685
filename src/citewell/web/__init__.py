"""The web: what may be fetched and how, pages read, and the providers that search it."""
