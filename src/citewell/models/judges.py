"""Which judge and which reader the settings choose: the built-in one, none, or a folder.

`builtin` is what came with this installation; one that brings no weights has none, and the rules decide alone. A name
without a slash is looked for among the models that `citewell models get` fetched. A folder that cannot be used is
found out when it is first asked; the run goes on without it and says so, and `doctor` says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from citewell.settings import Settings

if TYPE_CHECKING:
    from citewell.models.entailment import OnnxEntailment
    from citewell.models.span_reader import OnnxSpanReader

BUILTIN, OFF = "builtin", "off"
_HERE = Path(__file__).parent
BUILTIN_JUDGE = _HERE / "judge_int8"
BUILTIN_READER = _HERE / "reader_int8"


def models_folder(settings: Settings) -> Path:
    """Where fetched models are kept."""
    return settings.data_dir / "models"


def judge_folder(settings: Settings) -> Path | None:
    """The folder of the judge, whether or not it can be used; None for no judge."""
    return _chosen(settings.judge, BUILTIN_JUDGE, settings)


def reader_folder(settings: Settings) -> Path | None:
    """The folder of the reader, whether or not it can be used; None for no reader."""
    return _chosen(settings.reader, BUILTIN_READER, settings)


def _chosen(setting: str, builtin: Path, settings: Settings) -> Path | None:
    chosen = setting.strip()
    if chosen.lower() in ("", OFF):
        return None
    if chosen.lower() == BUILTIN:
        return builtin if has_weights(builtin) else None
    path = Path(chosen).expanduser()
    fetched = models_folder(settings) / chosen
    return fetched if len(path.parts) == 1 and not path.exists() and fetched.is_dir() else path


def has_weights(folder: Path) -> bool:
    """Whether an installation brought a model of its own."""
    return (folder / "tokenizer.json").is_file() and any(folder.glob("model*.onnx"))


def open_judge(settings: Settings) -> OnnxEntailment | None:
    """The judge the settings choose; its files are read when it is first asked."""
    folder = judge_folder(settings)
    if folder is None:
        return None
    from citewell.models.entailment import OnnxEntailment

    return OnnxEntailment(folder)


def open_reader(settings: Settings) -> OnnxSpanReader | None:
    """The reader the settings choose; its files are read when it is first asked."""
    folder = reader_folder(settings)
    if folder is None:
        return None
    from citewell.models.span_reader import OnnxSpanReader

    return OnnxSpanReader(folder)
