"""Models that run on this machine or behind an endpoint: one file per provider. Nothing here is needed to search by words."""
