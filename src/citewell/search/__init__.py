"""Finding passages: lanes, fusion, rerank, windows. It takes queries as values and knows nothing of questions."""

from __future__ import annotations
