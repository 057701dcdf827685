"""The REST and SSE door: one server over the Engine. Nothing here is imported unless a server is started."""
