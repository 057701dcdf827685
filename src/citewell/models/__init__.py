"""Models, on this machine or behind an endpoint: one file per provider. Search by words needs none of them."""
