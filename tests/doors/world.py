"""What a run at a door reaches: a folder of notes, a data folder, a scripted model, three small sites with a search.

A world is made once and put back as it was before each door is used, so that every door meets the same one. Everything
is on the loopback; nothing here knows how runs are made.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from citewell import Citewell
from citewell.settings import setting_fields
from support.model_script import ModelRequest, Reply, Script, fails, silent
from support.model_server import ScriptedModelServer
from support.origin import Origin, Page, send

_WORD = re.compile(r"\w+")
# The same on every machine: what a model in the program judges is a number that processors may round differently.
PLAIN = {"judge": "off", "reader": "off", "embeddings": "off"}


@dataclass(frozen=True)
class SitePage:
    """A page of one of the three sites; it is found by every query that has all the words of `found_by`."""

    site: int
    path: str
    title: str
    text: str
    found_by: str
    date: str = "2020-01-01"
    status: int = 200

    @property
    def html(self) -> str:
        paragraphs = "".join(f"<p>{line}</p>" for line in self.text.split("\n"))
        filler = "<p>The coast is rocky here and the tides run high. Visitors come in summer, by the road.</p>"
        return (
            f'<html><head><title>{self.title}</title><meta property="article:published_time" content="{self.date}">'
            f"</head><body><article><h1>{self.title}</h1>{paragraphs}{filler}{filler}</article></body></html>"
        )


class Sites:
    """Three sites on ports of their own, in the order of their ports; the first also searches."""

    def __init__(self, origins: Sequence[Origin], pages: Sequence[SitePage]) -> None:
        self.origins = sorted(origins, key=lambda origin: origin.port)
        self.pages = pages
        self.searched: list[str] = []
        self.read: list[str] = []
        # A search or a page whose address has this in it is held back until it is released.
        self.held = ""
        self.is_asked = threading.Event()
        self.released = threading.Event()
        self.origins[0].pages["/search"] = self._search
        for page in pages:
            self.origins[page.site].pages[page.path] = self._serving(page)

    @property
    def settings(self) -> dict[str, Any]:
        allowed = ",".join(f"127.0.0.1:{origin.port}" for origin in self.origins)
        return {"search": "searxng", "searxng_url": self.origins[0].url, "fetch_allow": allowed}

    def _search(self, to: BaseHTTPRequestHandler) -> None:
        query = parse_qs(urlsplit(to.path).query).get("q", [""])[0]
        self.searched.append(query)
        self._hold("/search")
        asked = set(_WORD.findall(query.lower()))
        found = [page for page in self.pages if set(page.found_by.split()) <= asked]
        results = [
            {
                "url": f"{self.origins[page.site].url}{page.path}",
                "title": page.title,
                "content": page.text[:200],
                "publishedDate": page.date,
            }
            for page in found
        ]
        send(to, Page(json.dumps({"query": query, "results": results}), "application/json"))

    def _serving(self, page: SitePage) -> Callable[[BaseHTTPRequestHandler], None]:
        def serve(to: BaseHTTPRequestHandler) -> None:
            self.read.append(page.path)
            self._hold(page.path)
            send(to, Page(page.html, status=page.status))

        return serve

    def _hold(self, path: str) -> None:
        if self.held and self.held in path:
            self.is_asked.set()
            self.released.wait(120)


class Remembering:
    """A script that answers a prompt it has seen as it did the first time, also in another process or another try."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._said: dict[str, Reply] = {}
        self._taken = 0

    def __call__(self, request: ModelRequest) -> Reply:
        if request.prompt not in self._said:
            self._said[request.prompt] = self._fresh(request)
        return self._said[request.prompt]

    def _fresh(self, request: ModelRequest) -> Reply:
        if isinstance(self._script, Reply):
            return self._script
        if callable(self._script):
            return self._script(request)
        self._taken += 1
        return self._script[self._taken - 1] if self._taken <= len(self._script) else fails(500, "no reply is left")


@dataclass
class World:
    """A folder with everything a run needs, and the servers it asks."""

    folder: Path
    settings: dict[str, Any] = field(default_factory=dict)
    model: ScriptedModelServer | None = None
    sites: Sites | None = None
    # Which requests the model takes and says nothing to, and whether there is such a one.
    is_model_held: Callable[[ModelRequest], bool] = lambda request: False
    holds: threading.Event = field(default_factory=threading.Event)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def environment(self) -> dict[str, str]:
        """The settings as variables, for programs."""
        names = {entry.name: entry.metadata["env"] for entry in setting_fields()}
        return {names[name]: str(value) for name, value in self.settings.items()}

    def opened(self, **more: Any) -> Citewell:
        return Citewell(self.data, **{**self.settings, **more})

    def put_back(self) -> None:
        """Everything on disk as it was before the first run, in the same place."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._kept, self.folder)

    def keep(self) -> None:
        shutil.copytree(self.folder, self._kept)

    @property
    def _kept(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}-kept")


@contextmanager
def made_world(
    folder: Path,
    notes: Mapping[str, str],
    *,
    script: Script | None = None,
    pages: Sequence[SitePage] = (),
    settings: Mapping[str, Any] | None = None,
) -> Iterator[World]:
    """A world with these notes in its corpus; with a script there is a model, with pages there is a web."""
    world = World(folder / "world", {**PLAIN})
    world.notes.mkdir(parents=True)
    for name, text in notes.items():
        (world.notes / name).write_text(text, "utf-8")
    with ExitStack() as stack:
        if script is not None:
            remembering = Remembering(script)

            def reply(request: ModelRequest) -> Reply:
                said = silent() if world.is_model_held(request) else remembering(request)
                if said.is_silent:
                    world.holds.set()
                return said

            world.model = stack.enter_context(ScriptedModelServer(reply))
            world.settings |= {"model": "openai:test", "model_base_url": world.model.base_url, "judge": "off"}
        if pages:
            world.sites = Sites([stack.enter_context(Origin()) for _ in range(3)], pages)
            world.settings |= world.sites.settings
        world.settings |= settings or {}
        with world.opened() as cw:
            cw.add(world.notes)
        world.keep()
        yield world


def program_environment(world: World) -> dict[str, str]:
    return {**os.environ, **world.environment}
