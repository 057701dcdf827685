"""Citewell for agents, over the Model Context Protocol: the same façade, the same documents as `--json` prints."""
