"""A program that restores a backup once for every step of it, struck there, each time over a corpus of one note.

python restorer.py ARCHIVE ROOT kill|fail    each into ROOT/<step>/data; it prints how each of them ended
"""

from __future__ import annotations

import shutil
import sys
from itertools import count
from pathlib import Path

from citewell import Citewell, CitewellError, Settings, StoreFull
from recording.writer import DONE, Saboteur, ending_of, in_child


def main(archive: Path, root: Path, how: str) -> None:
    note = root / "vault" / "old.md"
    note.parent.mkdir(parents=True)
    note.write_text("An old note.", "utf-8")
    engine = Citewell(Settings(data_dir=root / "old" / "data"))
    for _ in engine.corpus.sync(note.parent):
        pass
    engine.close()
    for step in count(1):
        place = root / f"{step:03}"
        shutil.copytree(root / "old", place)

        def restore(place: Path = place, step: int = step) -> None:
            opened = Citewell(Settings(data_dir=place / "data"))
            saboteur = Saboteur(how, step)
            try:
                opened.corpus.restore(archive, force=True)
            except CitewellError as error:
                raise StoreFull(error.message) from error
            if saboteur.has_struck:
                raise StoreFull("It did without this step.")

        ending = ending_of(in_child(restore))
        print(ending, flush=True)
        if ending == DONE:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
