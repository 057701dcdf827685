"""`citewell mcp`: the same engine for agents, over stdin and stdout."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from pathlib import Path

import click

from citewell.domain.errors import BadInput
from citewell.engine import Citewell
from citewell.surfaces.cli.console import print_text
from citewell.surfaces.cli.options import engine

EXIT_CANCELLED = 130
DEFAULT_PORT = 8478


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
        from citewell.surfaces.mcp.clients import install_help as configuration

        print_text(configuration(_command(data_dir)))
        return 0
    if print_skill:
        from citewell.surfaces.mcp.guidance import skill

        print_text(skill())
        return 0
    if port is not None and not over_http:
        raise BadInput("--port does nothing without --http.", fix="Add --http.")
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="citewell: %(message)s")
    with engine(ctx) as opened:
        if over_http:
            _serve_http(opened, DEFAULT_PORT if port is None else port)
            ended = True
        else:
            from citewell.surfaces.mcp.stdio import serve_stdio

            ended = serve_stdio(opened)
    # At once: a thread may still wait for input that nobody will send.
    sys.stderr.flush()
    os._exit(0 if ended else EXIT_CANCELLED)


def _serve_http(opened: Citewell, port: int) -> None:
    """The server of `citewell serve`, on the loopback."""
    from citewell.surfaces.api.server import serve
    from citewell.surfaces.cli.serve import mounts

    def tell(url: str) -> None:
        print(f"{url}/mcp", flush=True)

    serve(opened, host="127.0.0.1", port=port, mounts=mounts, tell=tell)


def _command(data_dir: Path | None) -> list[str]:
    """How this program is started by somebody who has another working folder and search path."""
    program = shutil.which(sys.argv[0]) if sys.argv[0] else None
    is_script = program is not None and Path(program).stem == "citewell"
    start = [str(Path(program).absolute())] if program and is_script else [sys.executable, "-m", "citewell"]
    return [*start, *(["--data-dir", str(data_dir.expanduser().absolute())] if data_dir else []), "mcp"]
