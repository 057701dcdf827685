"""The REST and SSE door: one server over Citewell. Nothing here is imported unless a server is started."""
