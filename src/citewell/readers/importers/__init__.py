"""Importers: how each kind of file becomes documents. A new importer is one file, listed in `registry.py`."""
