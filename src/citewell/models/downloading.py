"""Fetching a model of the catalogue: resumable, checked, pinned, and put in its place whole.

A file must have the hash the catalogue knows; else the one pinned when it was first fetched; else the one its host
declares; else it is taken as it comes. Whichever it was, its hash is pinned (`pins.json` beside the models), so that a
model never changes unnoticed. What was fetched of a model waits in a hidden folder and is gone on with next time; the
model's own folder appears when everything is there and right.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from citewell.domain.errors import StoreFull, Unavailable, WorkFailed
from citewell.domain.model_reports import FetchedFile, FetchReport
from citewell.models.catalogue import SETTINGS, CatalogueFile, CatalogueModel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from citewell.models.fetching import Answer, Fetch

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
        self, answer: Answer, part: Path, start: int, cap: int, total: int, name: str, progress: Progress
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


def _length(answer: Answer) -> int:
    """How long a body is said to be; 0 where that is not said."""
    said = answer.headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdigit() else 0


def _start(answer: Answer, have: int, url: str, name: str) -> int | None:
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
