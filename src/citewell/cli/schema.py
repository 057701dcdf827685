"""`citewell schema`: the schemas of what commands print."""

from __future__ import annotations

import click

from citewell.cli.console import print_json, print_text
from citewell.cli.options import json_option
from citewell.errors import NotFound
from citewell.schemas import SCHEMA_NAMES, SchemaList, json_schema


@click.command(short_help="Print a JSON Schema.")
@click.argument("name", required=False)
@json_option
def schema(name: str | None, as_json: bool) -> None:
    """Print the JSON Schema of what a command prints with --json; without a name, list them.

    \b
    Examples:
      citewell schema
      citewell schema research
    """
    if name is None:
        names = SCHEMA_NAMES
        if as_json:
            print_json(SchemaList(names))
        else:
            print_text("\n".join(names))
        return
    if name not in SCHEMA_NAMES:
        raise NotFound(f"There is no schema named {name}.", fix=f"Known are: {', '.join(SCHEMA_NAMES)}.")
    print_json(json_schema(name))
