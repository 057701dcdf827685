"""Search providers: what each is asked, and what its reply means. They do no I/O; `web/searching.py` does."""
