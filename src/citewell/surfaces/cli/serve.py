"""`citewell serve`: the page, REST, SSE and MCP on this machine, behind one gate."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.engine import Citewell
from citewell.surfaces.cli.options import engine, warn_of_unused

if TYPE_CHECKING:
    from citewell.surfaces.api.app import MountedApp
    from citewell.surfaces.api.security import Gatekeeper

DEFAULT_PORT = 8477


@click.command(short_help="Serve the page, REST, and MCP over HTTP.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve at; another needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True, help="0 picks a free one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with the token that every request must have.",
)
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name this server is called by.")
@click.pass_context
def serve(ctx: click.Context, host: str, port: int, token_file: Path | None, names: tuple[str, ...]) -> int:
    """Serve the page, REST and event streams (docs/api.md), and agents at /mcp (docs/mcp.md).

    The first line printed is the address: open it in a browser. Runs belong to the server: whoever started one may
    leave. Ctrl-C interrupts them, resumably.

    \b
    Examples:
      citewell serve
      citewell serve --port 0
      citewell serve --host 192.168.1.20 --token-file ~/.citewell-token
    """
    from citewell.surfaces.api.server import read_token
    from citewell.surfaces.api.server import serve as serve_until_stopped

    token = read_token(token_file.expanduser() if token_file else None)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="citewell: %(message)s")
    with engine(ctx, "web_research_api") as opened:
        warn_of_unused(opened)
        serve_until_stopped(
            opened,
            host=host,
            port=port,
            token=token,
            names=names,
            mounts=mounts,
            tell=lambda url: print(url, flush=True),
        )
    # At once: a thread may still wait for a lock or a model, and nothing it could do is wanted any more.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def mounts(cw: Citewell, keeper: Gatekeeper) -> tuple[MountedApp, ...]:
    """What else stands behind the gate: the server for agents, and the page."""
    from citewell.surfaces.api.app import MountedApp
    from citewell.surfaces.mcp.http import http_app
    from citewell.surfaces.web.page import web_page

    over_http = http_app(cw, hosts=keeper.hosts)
    return (
        MountedApp("/mcp", over_http.app, over_http.lifespan, is_endpoint=True),
        # Last: it is asked for whatever nothing else has.
        MountedApp("/", web_page()),
    )
