"""The built page as an ASGI app. Its files are read once, by name: a path that is no file of the page is 404.

    /                     -> static/index.html, with the policy below
    /assets/index-3f.js   -> static/assets/index-3f.js, whose name changes with its content

It stands behind the server's gate like everything else. Where the page was not built, `/` says how to build it.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

STATIC = Path(__file__).with_name("static")
# Scripts, styles and fonts of this server, requests to this server, and nothing else; no text ever becomes markup
# but what the framework's own templates hold.
PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
)
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_PACKED = (".html", ".js", ".css", ".svg")
_FOREVER = "private, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Citewell</title>
<h1>The page is not built</h1>
<p>The server is running: <code>/openapi.json</code> says what it can be asked.</p>
<p>To have the page, install Node.js 20.19 or later (with npm), then run in the project's folder:</p>
<pre>make ui</pre>
<p>and start the server again. A wheel built where npm is installed already has it.</p>
"""


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    packed: bytes | None
    headers: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> _File:
        content = path.read_bytes()
        headers = {"content-type": _KINDS[path.suffix]}
        if path.name == "index.html":
            headers["content-security-policy"] = PAGE_CSP
        elif path.parent.name == "assets":
            headers["cache-control"] = _FOREVER
        return cls(content, gzip.compress(content, 9) if path.suffix in _PACKED else None, headers)

    def response(self, request: Request) -> Response:
        accepted = request.headers.get("accept-encoding", "")
        if self.packed is not None and "gzip" in accepted:
            return Response(
                self.packed, headers={**self.headers, "content-encoding": "gzip", "vary": "accept-encoding"}
            )
        return Response(self.content, headers=self.headers)


def is_built(static: Path = STATIC) -> bool:
    return (static / "index.html").is_file()


def web_page(static: Path = STATIC) -> ASGIApp:
    """The app that serves the page, or says how to build it."""
    files = {
        f"/{path.relative_to(static).as_posix()}": _File.read(path)
        for path in static.rglob("*")
        if path.is_file() and path.suffix in _KINDS
    }
    if "/index.html" in files:
        files["/"] = files.pop("/index.html")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = _answer(request, files)
        await response(scope, receive, send)

    return app


def _answer(request: Request, files: dict[str, _File]) -> Response:
    path = request.scope["path"]
    found = files.get(path)
    if found is None and path != "/":
        raise HTTPException(404)
    if request.method not in ("GET", "HEAD"):
        raise HTTPException(405, headers={"Allow": "GET, HEAD"})
    if found is None:
        return Response(_NOT_BUILT, 503, media_type="text/html")
    return found.response(request)
