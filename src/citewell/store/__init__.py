"""`corpus.db`: documents, their texts, chunks, tags, links and the index over them."""

from __future__ import annotations
