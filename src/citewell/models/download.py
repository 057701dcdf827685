"""Fetching a model of the catalogue: resumable, checked, pinned, and put in its place whole.

A file must have the hash the catalogue knows; else the one pinned when it was first fetched; else the one its host
declares; else it is taken as it comes. Whichever it was, its hash is pinned (`pins.json` beside the models), so that a
model never changes unnoticed. What was fetched of a model waits in a hidden folder and is gone on with next time; the
model's own folder appears when everything is there and right.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import json
import os
import shutil
import socket
import ssl
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

from citewell.errors import BadInput, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.models.entailment import judge_folder, models_folder, reader_folder
from citewell.settings import Settings
from citewell.text.urls import Place, is_loopback, is_public, place_of
from citewell.version import __version__

# What `citewell models` reports: which models there are, what was fetched, how well a judge judges.


ModelKind = Literal["judge", "reader", "reranker"]


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A public model that can be fetched; `published` are its authors' own figures."""

    name: str
    kind: ModelKind
    about: str
    licence: str
    authors: str
    megabytes: int
    published: str
    is_fetched: bool
    is_used: bool


@dataclass(frozen=True, slots=True)
class ModelList:
    """The catalogue, the folder fetched models are in, and what the settings choose."""

    models: tuple[ListedModel, ...]
    folder: str
    judge: str
    reader: str
    reranker: str


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file of a model, and by what its bytes were checked.

    `catalogue`: the hash this program knows; `pin`: the one of an earlier download; `host`: the one its host declares;
    `first`: nothing but that it came first. All are pinned from then on.
    """

    path: str
    bytes: int
    sha256: str
    checked_by: Literal["catalogue", "pin", "host", "first"]


@dataclass(frozen=True, slots=True)
class FetchReport:
    """A model that is there now, and how to use it."""

    name: str
    folder: str
    files: tuple[FetchedFile, ...]
    fetched_bytes: int
    setting: str


# The catalogue: public models that fit, where they are, under which licence, and what their authors say of them.


HOST = "https://huggingface.co"
SETTINGS: dict[ModelKind, str] = {
    "judge": "CITEWELL_JUDGE",
    "reader": "CITEWELL_READER",
    "reranker": "CITEWELL_RERANKER",
}


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """A file as it is called here, as its host calls it, and its hash where it is known."""

    path: str
    remote: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    name: str
    kind: ModelKind
    about: str
    licence: str
    authors: str
    repository: str
    revision: str
    megabytes: int
    published: str
    files: tuple[CatalogueFile, ...]

    def url(self, file: CatalogueFile, base: str) -> str:
        return f"{(base or HOST).rstrip('/')}/{self.repository}/resolve/{self.revision}/{file.remote}"


@cache
def catalogue() -> dict[str, CatalogueModel]:
    """Every model of the catalogue by its name, in its order."""
    entries = tomllib.loads((Path(__file__).parent / "catalogue.toml").read_text("utf-8"))
    return {name: _model(name, entry) for name, entry in entries.items()}


def _model(name: str, entry: dict[str, Any]) -> CatalogueModel:
    files = tuple(
        CatalogueFile(path, about.get("from", path), about.get("sha256", ""))
        for path, about in entry.pop("files").items()
    )
    return CatalogueModel(name=name, files=files, **entry)


def find_model(name: str) -> CatalogueModel:
    """The model of that name; raises NotFound with the names there are."""
    found = catalogue().get(name)
    if found is None:
        raise NotFound(f"The catalogue has no model '{name}'.", fix=f"It has: {', '.join(catalogue())}.")
    return found


def list_models(settings: Settings) -> ModelList:
    """The catalogue with what was fetched and what is used."""
    folder = models_folder(settings)
    reranker = Path(settings.reranker).expanduser() if settings.reranker else None
    used = {judge_folder(settings), reader_folder(settings), reranker}
    models = tuple(
        ListedModel(
            *(one.name, one.kind, one.about, one.licence, one.authors, one.megabytes, one.published),
            is_fetched=(folder / one.name).is_dir(),
            is_used=folder / one.name in used,
        )
        for one in catalogue().values()
    )
    return ModelList(models, str(folder), settings.judge, settings.reader, settings.reranker)


# A file may be so many times as large as the whole model is said to be.
_SIZE_FACTOR = 1.5
_LEAST_CAP = 20_000_000
FILE_SECONDS = 3_600.0
PINS = "pins.json"
_AGAIN = "Run it again: it goes on where it stopped."

# A file and how much of it there is, of how much (0: not known).
Progress = Callable[[str, int, int], None]
CheckedBy = Literal["catalogue", "pin", "host", "first"]


@dataclass(frozen=True, slots=True)
class Downloads:
    """The folder that fetched models are kept in."""

    folder: Path
    fetch: Fetch
    base_url: str = ""
    seconds: float = FILE_SECONDS

    def get(self, model: CatalogueModel, progress: Progress) -> FetchReport:
        """Have a model here, fetched where it is not; raises Unavailable, WorkFailed or StoreFull."""
        with _disk_errors(), self._alone(model):
            target = self.folder / model.name
            there = self._known(model, target)
            if there is not None:
                return self._report(model, there, 0)
            aside = self.folder / f".fetching-{model.name}"
            aside.mkdir(parents=True, exist_ok=True)
            came = 0
            files: list[FetchedFile] = []
            for file in model.files:
                found, fetched = self._file(model, file, aside / file.path, progress)
                files.append(found)
                came += fetched
            self._put(aside, target, model)
            return self._report(model, files, came)

    def _report(self, model: CatalogueModel, files: list[FetchedFile], came: int) -> FetchReport:
        target = self.folder / model.name
        return FetchReport(model.name, str(target), tuple(files), came, f"{SETTINGS[model.kind]}={target}")

    def _known(self, model: CatalogueModel, folder: Path) -> list[FetchedFile] | None:
        """What is there already, every file with the hash it must have; None where something is missing or changed."""
        pins = self._pins()
        found: list[FetchedFile] = []
        for file in model.files:
            path, known = folder / file.path, file.sha256 or pins.get(_pin(model, file), "")
            if not known or not path.is_file() or _sha256(path) != known:
                return None
            found.append(FetchedFile(file.path, path.stat().st_size, known, "catalogue" if file.sha256 else "pin"))
        return found

    def _file(
        self, model: CatalogueModel, file: CatalogueFile, path: Path, progress: Progress
    ) -> tuple[FetchedFile, int]:
        """One file, whole and checked, in the hidden folder; and how many bytes came for it now."""
        pinned = self._pins().get(_pin(model, file), "")
        known = file.sha256 or pinned
        if known and path.is_file() and _sha256(path) == known:
            return FetchedFile(file.path, path.stat().st_size, known, "catalogue" if file.sha256 else "pin"), 0
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        if known and part.is_file() and _sha256(part) == known:
            os.replace(part, path)  # whole already: only its place was missing
            return FetchedFile(file.path, path.stat().st_size, known, "catalogue" if file.sha256 else "pin"), 0
        cap = max(_LEAST_CAP, int(model.megabytes * 1_000_000 * _SIZE_FACTOR))
        came, declared = self._receive(model.url(file, self.base_url), part, cap, bool(known), file.path, progress)
        digest = _sha256(part)
        by: CheckedBy = "catalogue" if file.sha256 else "pin" if pinned else "first"
        if known and digest != known:
            part.unlink()
            raise _changed(model, file, by)
        if not known and declared:
            by = "host"
            if declared not in _hashes(part, digest):
                part.unlink()
                raise _changed(model, file, by)
        os.replace(part, path)
        _note(part).unlink(missing_ok=True)
        self._add_pin(_pin(model, file), digest)
        return FetchedFile(file.path, path.stat().st_size, digest, by), came

    def _receive(
        self, url: str, part: Path, cap: int, is_known: bool, name: str, progress: Progress
    ) -> tuple[int, str]:
        """Fetch what is missing of a file; how many bytes came, and the hash its host declares."""
        have = part.stat().st_size if part.exists() else 0
        etag = _read_json(_note(part)).get("etag", "")
        headers: dict[str, str] = {}
        # Without a mark of the version, only a file whose hash is known may be put together from two answers.
        if have and (etag or is_known):
            headers = {"range": f"bytes={have}-"} | ({"if-range": etag} if etag else {})
        with self.fetch.open(url, headers, self.seconds) as answer:
            start = _start(answer, have, url, name)
            if start is not None:
                _write_json(_note(part), {"etag": _strong(answer.headers.get("etag", ""))})
                total = start + _length(answer)
                came = self._write(answer, part, start, cap, total, name, progress)
        if start is None:
            # What is there does not fit what the host has now: once more, from the beginning.
            part.unlink(missing_ok=True)
            if not have:
                raise Unavailable(f"The host gives no whole {name}.", fix="Try again later.")
            return self._receive(url, part, cap, is_known, name, progress)
        if total > start and start + came < total:
            raise WorkFailed(f"The connection was cut while {name} was fetched.", fix=_AGAIN)
        return came, answer.declared.get("x-linked-etag", "").strip('"').lower()

    def _write(
        self, answer: HostReply, part: Path, start: int, cap: int, total: int, name: str, progress: Progress
    ) -> int:
        size = start
        with part.open("ab" if start else "wb") as out:
            progress(name, size, total)
            for data in answer.body:
                size += len(data)
                if size > cap:
                    part.unlink()
                    larger = f"{name} is larger than {cap // 1_000_000} MB, which it should not be; nothing was kept."
                    raise WorkFailed(larger, fix="Try again; if it stays so, the file was changed.")
                out.write(data)
                progress(name, size, total)
        return size - start

    def _put(self, aside: Path, target: Path, model: CatalogueModel) -> None:
        """The whole folder in its place; one that was there and not right gives way."""
        wanted = {file.path for file in model.files}
        for path in aside.iterdir():
            if path.name not in wanted:
                path.unlink()
        about = {"repository": model.repository, "revision": model.revision, "licence": model.licence}
        _write_json(aside / "about.json", {**about, "authors": model.authors})
        old = self.folder / f".old-{model.name}"
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            os.replace(target, old)
        os.replace(aside, target)
        shutil.rmtree(old, ignore_errors=True)

    def _pins(self) -> dict[str, str]:
        found = _read_json(self.folder / PINS)
        return {name: digest for name, digest in found.items() if isinstance(digest, str)}

    def _add_pin(self, name: str, digest: str) -> None:
        _write_json(self.folder / PINS, {**self._pins(), name: digest})

    @contextmanager
    def _alone(self, model: CatalogueModel) -> Iterator[None]:
        """One process at a time fetches a model."""
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:
            yield
            return
        with (self.folder / f".{model.name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Unavailable(f"Another process fetches {model.name}.", fix="Wait until it is done.") from None
            yield


def _length(answer: HostReply) -> int:
    """How long a body is said to be; 0 where that is not said."""
    said = answer.headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdigit() else 0


def _start(answer: HostReply, have: int, url: str, name: str) -> int | None:
    """Where the bytes of an answer belong; None where they do not fit what is there."""
    if answer.status == 200:
        return 0
    if answer.status == 206:
        fits = answer.headers.get("content-range", "").strip().lower().startswith(f"bytes {have}-")
        return have if fits else None
    if answer.status == 416:
        return None
    host = url.split("/")[2]
    if answer.status in (401, 403, 404, 410):
        raise Unavailable(f"{host} does not have {name} (HTTP {answer.status}).", fix="See 'citewell models list'.")
    raise Unavailable(f"{host} answered HTTP {answer.status} for {name}.", fix="Try again later.")


def _changed(model: CatalogueModel, file: CatalogueFile, by: CheckedBy) -> WorkFailed:
    what = {"catalogue": "the catalogue knows", "pin": "it had when it was first fetched", "host": "its host declares"}
    pinned = f" To trust the new one, remove its line from {PINS} in the folder of the models." if by == "pin" else ""
    return WorkFailed(
        f"{file.path} of {model.name} does not have the hash {what.get(by, 'it should have')}; nothing of it was kept.",
        fix=f"Try again; if it stays so, the file was changed.{pinned}",
    )


def _pin(model: CatalogueModel, file: CatalogueFile) -> str:
    return f"{model.repository}@{model.revision}/{file.remote}"


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _strong(etag: str) -> str:
    return etag if etag.startswith('"') else ""


def _hashes(path: Path, digest: str) -> tuple[str, str]:
    """What the host may call a file: its SHA-256, or the name Git has for a small one."""
    named = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as file:
        while data := file.read(1_000_000):
            named.update(data)
    return digest, named.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(json.dumps(value, indent=1), "utf-8")
    os.replace(aside, path)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull("The disk is full.", fix=f"Free some space. {_AGAIN}") from None
        raise WorkFailed(f"A file cannot be written: {error.strerror}.", fix="Check the data folder.") from None


# The one way a file of a model is fetched: asked for by a person, and guarded against wherever its address leads.
#
# Only https, on its own port, and only public addresses: every address of a name is checked, and the one that was
# checked is dialled. An address that the user configured may be anywhere, and http where it is this machine. Redirects
# are followed by hand, each under the same rules, five at most. No proxy is used, no credential sent, nothing unpacked.
# There is a limit of bytes and one of time for the whole exchange. Blocked, closed and unknown look alike to anyone who
# asks.
#
# It does not protect against a host that serves a bad model: that is what hashes are for.


MOST_HOPS = 5
STALL_SECONDS = 30.0
CHUNK = 256 * 1024
_MOST_LOCATION = 8_000
_OFFLINE = (
    "Check your connection. Without one: fetch the folder elsewhere and name it in the setting, or set "
    "CITEWELL_MODELS_URL to a mirror you can reach."
)

# Every address a name has, as text.
Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """Every address of a name, as the system knows it."""
    found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(slots=True)
class HostReply:
    """What a host answered in the end; `declared` has the headers of every hop, the first that named one counting."""

    status: int
    headers: Mapping[str, str]
    declared: Mapping[str, str]
    body: Iterator[bytes]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Fetches under the rules; `configured` is the address a user set, which may be anywhere."""

    configured: str = ""
    resolve: Resolve = resolve
    monotonic: Callable[[], float] = time.monotonic
    stall_seconds: float = STALL_SECONDS

    @contextlib.contextmanager
    def open(self, url: str, headers: Mapping[str, str], seconds: float) -> Iterator[HostReply]:
        """Ask for an address; raises Unavailable, BadInput or WorkFailed. The connection ends with the block."""
        until = self.monotonic() + seconds
        place, declared = place_of(url), dict[str, str]()
        asked = place.host
        for _ in range(MOST_HOPS + 1):
            with self._exchange(place, asked, headers, until) as connection:
                response = connection.answered
                found = {name.lower(): value for name, value in response.getheaders()}
                declared = {**found, **declared}
                if response.status not in (301, 302, 303, 307, 308):
                    yield HostReply(response.status, found, declared, self._body(connection, until))
                    return
                place = self._next(place, found.get("location", ""))
        raise WorkFailed(f"{asked} sends from one address to the next without end.", fix="Try again later.")

    def _next(self, place: Place, location: str) -> Place:
        if location and len(location) <= _MOST_LOCATION:
            here = f"{place.scheme}://{place.host}:{place.port}{place.path}"
            with contextlib.suppress(BadInput, ValueError):
                return place_of(urljoin(here, location))
        raise WorkFailed("The host sends on to an address that is not fetched.", fix="Try again later.")

    @contextlib.contextmanager
    def _exchange(
        self, place: Place, asked: str, headers: Mapping[str, str], until: float
    ) -> Iterator[_CheckedConnection]:
        """One request and what answers it; errors name the host that was asked for, never where it led."""
        address = self._address(place, asked)
        connection = _CheckedConnection(place, address, min(self.stall_seconds, self._left(until)))
        # A host that gives a byte now and then never runs into the limit of one read: the whole has its own.
        ending = threading.Timer(self._left(until), connection.end)
        ending.daemon = True
        ending.start()
        sent = {"user-agent": f"citewell/{__version__}", "accept": "*/*", "accept-encoding": "identity", **headers}
        try:
            try:
                connection.request("GET", place.path, headers=sent)
                connection.answered = connection.getresponse()
            except (OSError, ValueError, http.client.HTTPException):
                raise _unreachable(asked) from None
            yield connection
        finally:
            ending.cancel()
            connection.leave()

    def _address(self, place: Place, asked: str) -> str:
        """The address to dial, out of those that may be; one that may not be spoils them all."""
        try:
            found = list(self.resolve(place.host, place.port))
        except (OSError, UnicodeError):
            raise _unreachable(asked) from None
        is_configured = bool(self.configured) and place.origin == place_of(self.configured).origin
        if is_configured and place.scheme == "http":
            allowed = bool(found) and all(map(is_loopback, found))
        elif is_configured:
            allowed = bool(found)
        else:
            allowed = place.scheme == "https" and place.port == 443 and bool(found) and all(map(is_public, found))
        if not allowed:
            raise _unreachable(asked)
        return found[0]

    def _body(self, connection: _CheckedConnection, until: float) -> Iterator[bytes]:
        while True:
            try:
                data = connection.answered.read1(CHUNK)
            except (OSError, ValueError, http.client.HTTPException):
                raise WorkFailed("The connection was cut.", fix=_AGAIN) from None
            if connection.is_ended:
                raise WorkFailed("It took too long.", fix=_AGAIN)
            if not data:
                return
            yield data
            self._left(until)

    def _left(self, until: float) -> float:
        left = until - self.monotonic()
        if left <= 0:
            raise WorkFailed("It took too long.", fix=_AGAIN)
        return left


def _unreachable(host: str) -> Unavailable:
    return Unavailable(f"Nothing that may be fetched answers at {host}.", fix=_OFFLINE)


@cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


class _CheckedConnection(http.client.HTTPConnection):
    """A connection to an address that was checked, under the name it was checked for."""

    answered: http.client.HTTPResponse
    is_ended = False
    _opened: socket.socket | None = None

    def __init__(self, place: Place, address: str, seconds: float) -> None:
        super().__init__(place.host.strip("[]"), place.port, timeout=seconds)
        self._place, self._address = place, address

    def connect(self) -> None:
        opened = socket.create_connection((self._address, self._place.port), self.timeout)
        if self._place.scheme == "https":
            opened = _certificates().wrap_socket(opened, server_hostname=self._place.host.strip("[]"))
        # Kept apart: the connection forgets its socket once a host says that it will close it.
        self.sock = self._opened = opened

    def end(self) -> None:
        """Cut it off, from another thread."""
        self.is_ended = True
        if self._opened is not None:
            with contextlib.suppress(OSError):
                self._opened.shutdown(socket.SHUT_RDWR)

    def leave(self) -> None:
        """Close everything of it, read or not."""
        if hasattr(self, "answered"):
            self.answered.close()
        self.close()
        if self._opened is not None:
            self._opened.close()
