"""Citewell for agents, over the Model Context Protocol: the same Engine, the same documents as `--json` prints."""
