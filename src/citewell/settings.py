"""Settings: one typed class, and the only place that reads the environment.

A value comes from a command-line flag, else the environment, else `citewell.toml` in the data folder, else the default.
In the file the same names are used, in lower case and without the `CITEWELL_` prefix.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from citewell.domain.errors import BadInput

if TYPE_CHECKING:
    from citewell.domain.library import SettingView

FILE_NAME = "citewell.toml"


def _setting(env: str, doc: str, default: Any, *, secret: bool = False, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"env": env, "doc": doc, "secret": secret, "choices": choices})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured."""

    data_dir: Path
    model: str = _setting("CITEWELL_MODEL", "model that writes answers; `extractive` needs none", "extractive")
    model_base_url: str = _setting("CITEWELL_MODEL_BASE_URL", "address of any model whose own is not set", "")
    model_api_key: str = _setting("CITEWELL_MODEL_API_KEY", "key of the model's provider", "", secret=True)
    openai_url: str = _setting("CITEWELL_OPENAI_URL", "address of `openai:` models; any OpenAI-compatible server", "")
    anthropic_url: str = _setting("CITEWELL_ANTHROPIC_URL", "address of `anthropic:` models", "")
    ollama_url: str = _setting("CITEWELL_OLLAMA_URL", "address of `ollama:` models; empty: port 11434 here", "")
    llamacpp_url: str = _setting("CITEWELL_LLAMACPP_URL", "address of `llamacpp:` models; empty: port 8080 here", "")
    vllm_url: str = _setting("CITEWELL_VLLM_URL", "address of `vllm:` models; empty: port 8000 here", "")
    openrouter_url: str = _setting("CITEWELL_OPENROUTER_URL", "address of `openrouter:` models", "")
    fireworks_url: str = _setting("CITEWELL_FIREWORKS_URL", "address of `fireworks:` models", "")
    prices: str = _setting(
        "CITEWELL_PRICES", "USD for a million tokens in/out, as `openai:NAME=0.5/1.5,ollama:NAME=0.1/0.1`", ""
    )
    planner_model: str = _setting("CITEWELL_PLANNER_MODEL", "model that plans searches; empty: no model plans", "")
    review_model: str = _setting("CITEWELL_REVIEW_MODEL", "model that doubts finished answers; empty: none", "")
    planner_seconds: float = _setting("CITEWELL_PLANNER_TIMEOUT_SECONDS", "seconds a planning model may take", 20.0)
    max_output_tokens: int = _setting("CITEWELL_MAX_OUTPUT_TOKENS", "longest answer a model may write, in tokens", 1000)
    embeddings: str = _setting(
        "CITEWELL_EMBEDDINGS",
        "semantic lane; `shadow` only reports its changes",
        "on",
        choices=("off", "shadow", "on"),
    )
    encode_minutes: float = _setting(
        "CITEWELL_ENCODE_MINUTES", "minutes `add` encodes at most; the next one and `embed` go on", 10.0
    )
    embeddings_model: str = _setting(
        "CITEWELL_EMBEDDINGS_MODEL",
        "`ollama:NAME` or another endpoint, or a folder with all-MiniLM-L6-v2; empty: the one that came along",
        "",
    )
    reranker: str = _setting(
        "CITEWELL_RERANKER", "folder of an ONNX cross-encoder that looks at the best rows again; empty: none", ""
    )
    database_url: str = _setting(
        "CITEWELL_DATABASE_URL", "database; empty: SQLite files in the data folder", "", secret=True
    )
    search: str = _setting("CITEWELL_SEARCH", "comma list of enabled search providers; empty: none", "")
    searxng_url: str = _setting("CITEWELL_SEARXNG_URL", "base URL of a SearXNG instance", "")
    brave_api_key: str = _setting("BRAVE_API_KEY", "key for Brave search", "", secret=True)
    tavily_api_key: str = _setting("TAVILY_API_KEY", "key for Tavily search", "", secret=True)
    github_token: str = _setting("GITHUB_TOKEN", "token for GitHub search", "", secret=True)
    max_file_mb: int = _setting("CITEWELL_MAX_FILE_MB", "size in MB above which a file is left out (at most 1000)", 100)
    fetch_allow: str = _setting("CITEWELL_FETCH_ALLOW", "`host:port` list the fetch guard lets through", "")
    max_cost_usd: float = _setting("CITEWELL_MAX_COST_USD", "ceiling for one run in USD; 0: none set", 0.0)
    trace_keep: int = _setting("CITEWELL_TRACE_KEEP", "traces that are always kept", 500)
    trace_max_age_days: int = _setting("CITEWELL_TRACE_MAX_AGE_DAYS", "age at which further traces are pruned", 180)
    trace_keep_all: bool = _setting("CITEWELL_TRACE_KEEP_ALL", "never prune traces", False)
    sources: Mapping[str, Literal["default", "environment", "file", "flag"]] = field(default_factory=dict)

    @property
    def corpus_path(self) -> Path:
        return self.data_dir / "corpus.db"

    @property
    def runs_path(self) -> Path:
        return self.data_dir / "runs.db"


def setting_fields() -> tuple[Field[Any], ...]:
    """The fields a user can set, in order; docs and `doctor` are made from them."""
    return tuple(entry for entry in fields(Settings) if "env" in entry.metadata)


def load_settings(data_dir: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force."""
    environment = os.environ if environ is None else environ
    folder = _data_dir(data_dir, environment)
    stored = _read_file(folder / FILE_NAME)
    values: dict[str, Any] = {}
    sources: dict[str, Literal["default", "environment", "file", "flag"]] = {}
    for entry in setting_fields():
        name = entry.metadata["env"]
        if environment.get(name, "") != "":
            values[entry.name], sources[name] = _parse(entry, environment[name], name), "environment"
        elif entry.name in stored:
            values[entry.name], sources[name] = _parse(entry, stored[entry.name], f"{FILE_NAME}: {entry.name}"), "file"
        else:
            sources[name] = "default"
    return Settings(data_dir=folder, **values, sources=sources)


def view_settings(settings: Settings) -> tuple[SettingView, ...]:
    """Every setting as it may be shown: secrets are masked."""
    from citewell.domain.library import SettingView

    views: list[SettingView] = []
    for entry in setting_fields():
        value = getattr(settings, entry.name)
        shown = "set" if entry.metadata["secret"] and value else str(value)
        views.append(SettingView(entry.metadata["env"], shown, settings.sources.get(entry.metadata["env"], "default")))
    return tuple(views)


def secret_values(settings: Settings) -> tuple[str, ...]:
    """The values that must never be shown or recorded."""
    values = (getattr(settings, entry.name) for entry in setting_fields() if entry.metadata["secret"])
    return tuple(value for value in values if value)


def _data_dir(flag: Path | None, environment: Mapping[str, str]) -> Path:
    if flag is not None:
        return Path(os.path.abspath(flag.expanduser()))
    if environment.get("CITEWELL_DATA_DIR"):
        return Path(os.path.abspath(Path(environment["CITEWELL_DATA_DIR"]).expanduser()))
    import platformdirs

    return Path(platformdirs.user_data_dir("citewell", appauthor=False))


def _read_file(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}", fix="Fix the file or remove it.") from None
    try:
        stored = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is not valid TOML: {error}", fix="Fix the line it names, or remove the file.") from None
    known = {entry.name for entry in setting_fields()}
    unknown = sorted(stored.keys() - known)
    if unknown:
        raise BadInput(
            f"{path} has settings nobody knows: {', '.join(unknown)}.",
            fix=f"Known are: {', '.join(sorted(known))}.",
        )
    return stored


def _parse(entry: Field[Any], value: Any, name: str) -> Any:
    kind: type[Any] = type(entry.default)
    try:
        parsed = _parse_bool(value) if kind is bool else kind(value)
    except (TypeError, ValueError):
        raise BadInput(f"{name} is {value!r}; it must be a {kind.__name__}.", fix=f"Change or unset {name}.") from None
    choices = entry.metadata["choices"]
    if choices and parsed not in choices:
        raise BadInput(f"{name} is {value!r}; it must be one of {', '.join(choices)}.", fix=f"Change or unset {name}.")
    return parsed


def _parse_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    lowered = str(value).strip().lower()
    if lowered not in words:
        raise ValueError(value)
    return words[lowered]
