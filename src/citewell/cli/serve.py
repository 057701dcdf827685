"""`citewell serve`: the page, REST, SSE and MCP on this machine, behind one gate."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from citewell.cli.console import print_text
from citewell.cli.options import engine, warn_of_unused
from citewell.engine import Citewell
from citewell.errors import BadInput

if TYPE_CHECKING:
    from citewell.api.app import MountedApp
    from citewell.api.security import Gatekeeper


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

    The first line printed is the address: open it in a browser. Runs belong to the server: anyone who started one may
    leave. Ctrl-C interrupts them, resumably.

    \b
    Examples:
      citewell serve
      citewell serve --port 0
      citewell serve --host 192.168.1.20 --token-file ~/.citewell-token
    """
    from citewell.api.server import read_token
    from citewell.api.server import serve as serve_until_stopped

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
    from citewell.api.app import MountedApp
    from citewell.mcp.http import http_app
    from citewell.page.site import web_page

    over_http = http_app(cw, hosts=keeper.hosts)
    return (
        MountedApp("/mcp", over_http.app, over_http.lifespan, is_endpoint=True),
        # Last: it is asked for whatever nothing else has.
        MountedApp("/", web_page()),
    )


# `citewell mcp`: the same engine for agents, over stdin and stdout.


EXIT_CANCELLED = 130
MCP_PORT = 8478


@click.command(short_help="Serve agents over MCP.")
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="Over HTTP on this machine instead; the first line printed is the address.",
)
@click.option("--port", type=click.IntRange(0, 65_535), help="With --http: where (default 8478; 0 picks a free one).")
@click.option("--install-help", is_flag=True, help="Print ready configuration for the common clients, and exit.")
@click.option("--print-skill", is_flag=True, help="Print the skill that teaches agents to use it, and exit.")
@click.pass_context
def mcp(ctx: click.Context, over_http: bool, port: int | None, install_help: bool, print_skill: bool) -> int:
    """Serve agents over the Model Context Protocol on stdin and stdout (docs/mcp.md).

    A client starts this program; it ends when the client closes its input and every request is answered.

    \b
    Examples:
      citewell mcp --install-help
      citewell mcp --http --port 8478
      claude mcp add citewell -- citewell mcp
    """
    data_dir: Path | None = ctx.find_root().obj
    if install_help:
        from citewell.mcp.guidance import install_help as configuration

        print_text(configuration(_command(data_dir)))
        return 0
    if print_skill:
        from citewell.mcp.guidance import skill

        print_text(skill())
        return 0
    if port is not None and not over_http:
        raise BadInput("--port does nothing without --http.", fix="Add --http.")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="citewell: %(message)s")
    with engine(ctx) as opened:
        if over_http:
            _serve_http(opened, MCP_PORT if port is None else port)
            ended = True
        else:
            from citewell.mcp.stdio import serve_stdio

            ended = serve_stdio(opened)
    # At once: a thread may still wait for input that nobody will send.
    sys.stderr.flush()
    os._exit(0 if ended else EXIT_CANCELLED)


def _serve_http(opened: Citewell, port: int) -> None:
    """The server of `citewell serve`, on the loopback."""
    from citewell.api.server import serve

    def tell(url: str) -> None:
        print(f"{url}/mcp", flush=True)

    serve(opened, host="127.0.0.1", port=port, mounts=mounts, tell=tell)


def _command(data_dir: Path | None) -> list[str]:
    """How this program is started by somebody who has another working folder and search path."""
    program = shutil.which(sys.argv[0]) if sys.argv[0] else None
    is_script = program is not None and Path(program).stem == "citewell"
    start = [str(Path(program).absolute())] if program and is_script else [sys.executable, "-m", "citewell"]
    return [*start, *(["--data-dir", str(data_dir.expanduser().absolute())] if data_dir else []), "mcp"]
