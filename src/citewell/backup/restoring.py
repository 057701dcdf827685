"""Restoring a backup: unpacked and checked aside, then put in the place of the data folder in one step.

What was there before is never deleted: the whole folder is kept beside it under a name with the time. Where the system
can exchange two folders (Linux), a restore that is killed leaves either the old state or the new one; elsewhere there
is a moment between two renames in which the folder has only its other name.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
from pathlib import Path
from typing import Literal

from citewell.backup.consent import settled
from citewell.backup.contents import CORPUS, DATABASES, RUNS, SETTINGS, TRANSCRIPTS, as_toml, holds_something
from citewell.backup.reading import Backup, open_backup
from citewell.backup.workshop import check_room, disk_errors, workshop
from citewell.database.sqlite import count_rows, file_version
from citewell.domain.backups import AcceptSettings, RestoreReport
from citewell.domain.errors import BadInput, Unavailable
from citewell.domain.library import Problem
from citewell.domain.ports import Clock
from citewell.runs.document import MARKER, TRACES
from citewell.store.disk import sync_folder

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def restore_backup(
    archive: Path, data: Path, clock: Clock, *, force: bool = False, accept: AcceptSettings = lambda changes: False
) -> RestoreReport:
    """Put what an archive holds in the place of a data folder.

    Settings that send data elsewhere or permit more are put in place only where they are accepted.
    """
    started, at = clock.monotonic(), clock.now()
    place = data.resolve()
    if not force and holds_something(place):
        raise BadInput(
            f"{data} already holds a corpus or runs.",
            fix="Choose another folder with --data-dir, or use --force: what is there is kept aside.",
        )
    with disk_errors(f"The data folder {place.name}"), open_backup(archive) as backup:
        place.parent.mkdir(parents=True, exist_ok=True)
        check_room(place.parent, sum(member.bytes for member in backup.manifest.members), "Restoring")
        with workshop(place, "restore", lambda folder: _rescue(folder, place, at)) as folder:
            made = folder / "data"
            _unpack(backup, made)
            counts = _check_databases(made)
            settings, settings_left_out = _settle_settings(place, made, force, accept)
            aside = _put_in_place(made, place, at)
    manifest = backup.manifest
    names = [member.name for member in manifest.members]
    return RestoreReport(
        data_dir=str(data),
        created_at=manifest.created_at,
        version=manifest.version,
        documents=counts.get(CORPUS.name, 0),
        runs=counts.get(RUNS.name, 0),
        traces=sum(name.startswith(f"{TRACES}/") and name.endswith(f"/{MARKER}") for name in names),
        transcripts=sum(name.startswith(f"{TRANSCRIPTS}/") for name in names),
        settings=settings,
        secrets_left_out=manifest.secrets_left_out,
        kept_aside=str(aside) if aside else None,
        seconds=round(clock.monotonic() - started, 3),
        settings_left_out=settings_left_out,
    )


def _mark(made: Path) -> str:
    """The name of a file that tells a folder being restored from the one it is exchanged with."""
    return f".restoring-{made.parent.name.split('.')[-2]}"


def _rescue(folder: Path, place: Path, at: str) -> None:
    """What stopped right after the exchange left the old folder in the workshop: it gets a name of its own."""
    old = folder / "data"
    if old.is_dir() and any(old.iterdir()) and not (old / _mark(old)).exists():
        os.rename(old, _free_name(place, at))


def _put_in_place(made: Path, place: Path, at: str) -> Path | None:
    """Give the folder its name; the one that had it before is kept beside, and where that is."""
    mark, aside = _mark(made), None
    if not place.exists() or not any(place.iterdir()):
        os.rename(made, place)
    else:
        aside = _free_name(place, at)
        if _exchange(made, place):
            os.rename(made, aside)
        else:
            _rename_whole(place, aside)
            os.rename(made, place)
    (place / mark).unlink()
    sync_folder(place.parent)
    return aside


def _unpack(backup: Backup, made: Path) -> None:
    os.mkdir(made, 0o700)
    (made / _mark(made)).touch()
    folders = {made}
    for member in backup.manifest.members:
        path = made / member.name
        for folder in [parent for parent in reversed(path.parents) if parent.is_relative_to(made)]:
            folder.mkdir(exist_ok=True, mode=0o700)
            folders.add(folder)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            backup.unpack(member, file)
            file.flush()
            os.fsync(file.fileno())
    for folder in folders:
        sync_folder(folder)


def _check_databases(made: Path) -> dict[str, int]:
    """What each database holds; one that is damaged, newer or of a foreign schema is refused, whatever is declared."""
    counts: dict[str, int] = {}
    for database in DATABASES:
        path = made / database.file
        if path.exists():
            file_version(path, database.schema())
            counts[database.name] = count_rows(path, database.table)
    return counts


def _settle_settings(
    place: Path, made: Path, force: bool, accept: AcceptSettings
) -> tuple[Literal["restored", "kept", "none"], tuple[Problem, ...]]:
    """Settings that are there already stay, unless everything is to be replaced: they may hold a key."""
    here, restored = place / SETTINGS, made / SETTINGS
    if here.is_file() and (not force or not restored.exists()):
        shutil.copyfile(here, restored)
        os.chmod(restored, 0o600)
        return "kept", ()
    if not restored.exists():
        return "none", ()
    text, own = restored.read_bytes(), here.read_bytes() if here.is_file() else b""
    found = settled(text.decode("utf-8", "replace"), own.decode("utf-8", "replace"), accept)
    with restored.open("w", encoding="utf-8") as file:
        file.write(as_toml(found.values))
        file.flush()
        os.fsync(file.fileno())
    return "restored", found.left_out


def _free_name(place: Path, at: str) -> Path:
    stamp = re.sub(r"[^0-9TZ]", "", at.partition(".")[0])
    name, number = f"{place.name}.before-restore-{stamp}", 2
    free = place.with_name(name)
    while os.path.lexists(free):
        free, number = place.with_name(f"{name}-{number}"), number + 1
    return free


def _rename_whole(place: Path, aside: Path) -> None:
    try:
        os.rename(place, aside)
    except OSError as error:
        raise Unavailable(
            f"{place} cannot be renamed: {error.strerror}.",
            fix="It may be a disk of its own: restore into a folder inside it with --data-dir.",
        ) from error


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; False where the system or the file system cannot."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return bool(renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)
