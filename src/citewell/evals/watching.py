"""Watching what a suite depends on: the files of cases, and the notes they ask about.

The first moment comes when the watch has begun, so that nothing that changes while the cases are asked is missed. What
the program itself writes (its data, its reports) is not a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewell.domain.errors import CitewellError
from citewell.engine import Citewell
from citewell.evals.case_files import load_cases
from citewell.settings import Settings

_SETTLE_MS, _WAKE_MS = 300, 200


@dataclass(frozen=True, slots=True)
class Watched:
    """What is followed: files or folders of cases, folders of notes, and of those the ones of the user's own corpus."""

    cases: tuple[Path, ...]
    notes: tuple[Path, ...] = ()
    own: tuple[Path, ...] = ()

    @property
    def places(self) -> tuple[Path, ...]:
        """What there is of it to be watched; a file is seen from its folder, since saving often replaces it."""
        named = (path if path.is_dir() else path.parent for path in (*self.cases, *self.notes))
        return tuple(dict.fromkeys(path for path in named if path.is_dir()))

    def touches(self, path: Path) -> bool:
        return any(path == place or place in path.parents for place in (*self.cases, *self.notes))


def watched(paths: Sequence[Path], settings: Settings) -> Watched:
    """What the cases in these files depend on now; of files that are wrong, only themselves."""
    cases = tuple(path.resolve() for path in paths)
    try:
        files = load_cases(paths)
    except CitewellError:
        return Watched(cases)
    named = [(file.path.parent / file.corpus).resolve() for file in files if file.corpus not in ("", "sample")]
    own: tuple[Path, ...] = ()
    if any(not file.corpus for file in files):
        engine = Citewell(settings)
        own = tuple(Path(one.root) for one in engine.corpus.collections().collections)
        engine.close()
    return Watched(cases, (*named, *own), own)


def moments(paths: Sequence[Path], settings: Settings, ignored: Iterable[Path]) -> Iterator[bool]:
    """Each moment at which the cases are to be asked: at first, then whenever something changed and came to rest.

    Whether notes of the user's own corpus changed is what is told.
    """
    from watchfiles import watch

    out = {path.resolve() for path in (settings.data_dir, *ignored)}
    while True:
        # Whatever is followed anew is asked at once: it may have changed before the watch had begun.
        following, has_begun = watched(paths, settings), False
        for changed in watch(
            *following.places, debounce=_SETTLE_MS, rust_timeout=_WAKE_MS, yield_on_timeout=True, raise_interrupt=True
        ):
            touched = [path for path in (Path(name) for _, name in changed) if not out & {path, *path.parents}]
            touched = [path for path in touched if following.touches(path)]
            if has_begun and not touched:
                continue
            has_begun = True
            yield any(root in path.parents for path in touched for root in following.own)
            if watched(paths, settings).places != following.places:
                break


def bring_up_to_date(settings: Settings) -> None:
    """Sync the folders of the user's corpus; one that is not there stays as it was."""
    engine = Citewell(settings)
    try:
        for one in engine.corpus.collections().collections:
            if Path(one.root).is_dir():
                for _ in engine.corpus.sync(Path(one.root)):
                    pass
    finally:
        engine.close()
