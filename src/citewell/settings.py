"""Settings: one typed class, and the only place that reads the environment.

A value comes from a command-line flag, else the environment, else `citewell.toml` in the data folder, else the default.
In the file the same names are used, in lower case and without the `CITEWELL_` prefix.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from citewell.errors import BadInput

if TYPE_CHECKING:
    from citewell.text.secrets import Masker


FILE_NAME = "citewell.toml"
# What people give as a key to a server that needs none: no secret, and a word that notes may well have.
PLACEHOLDERS = frozenset(
    "postgres postgresql password citewell "
    "ollama llamacpp llama.cpp vllm lm-studio lmstudio openai empty none null dummy local unused placeholder "
    "not-needed not-used no-key no-key-needed sk-no-key sk-no-key-required".split()
)


def _setting(
    env: str,
    doc: str,
    default: Any,
    *,
    secret: bool = False,
    choices: tuple[str, ...] = (),
    between: tuple[float, float] | None = None,
    used: bool = True,
) -> Any:
    """A setting: its variable, what it means, which values it takes, and whether anything uses it yet."""
    about = {"env": env, "doc": doc, "secret": secret, "choices": choices, "between": between, "used": used}
    return field(default=default, metadata=about)


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
    review_model: str = _setting(
        "CITEWELL_REVIEW_MODEL",
        "model that judges sentences, where `CITEWELL_JUDGE` is `auto`; the older name of that choice",
        "",
    )
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
    summaries: str = _setting(
        "CITEWELL_SUMMARIES",
        "`on`: search also looks into the summaries that `citewell summarize` stored",
        "off",
        choices=("off", "on"),
    )
    embeddings_model: str = _setting(
        "CITEWELL_EMBEDDINGS_MODEL",
        "`ollama:NAME` or another endpoint, or a folder with all-MiniLM-L6-v2; empty: the one that came along",
        "",
    )
    reranker: str = _setting(
        "CITEWELL_RERANKER", "folder of an ONNX cross-encoder that looks at the best rows again; empty: none", ""
    )
    judge: str = _setting(
        "CITEWELL_JUDGE",
        "who reads whether sources say the sentences a model wrote: `auto` (a small model that was fetched, else the"
        " model that writes), `off`, a folder or a fetched model, or a model such as `openai:NAME`",
        "auto",
    )
    reader: str = _setting(
        "CITEWELL_READER",
        "model that finds answers in passages: `builtin`, `off`, a folder or a fetched model",
        "builtin",
    )
    models_url: str = _setting(
        "CITEWELL_MODELS_URL", "where `models get` fetches from, also in your own network; empty: huggingface.co", ""
    )
    database_url: str = _setting(
        "CITEWELL_DATABASE_URL",
        "`postgresql://USER:PASSWORD@HOST/DATABASE` keeps runs and reports there, for several machines; empty: in"
        " `runs.db`. Documents stay in `corpus.db` of the data folder",
        "",
        secret=True,
    )
    search: str = _setting("CITEWELL_SEARCH", "comma list of enabled search providers; empty: none", "")
    searxng_url: str = _setting("CITEWELL_SEARXNG_URL", "base URL of a SearXNG instance that answers in JSON", "")
    brave_url: str = _setting("CITEWELL_BRAVE_URL", "another address of Brave search", "")
    duckduckgo_url: str = _setting("CITEWELL_DUCKDUCKGO_URL", "another address of DuckDuckGo", "")
    tavily_url: str = _setting("CITEWELL_TAVILY_URL", "another address of Tavily", "")
    arxiv_url: str = _setting("CITEWELL_ARXIV_URL", "another address of arXiv", "")
    openalex_url: str = _setting("CITEWELL_OPENALEX_URL", "another address of OpenAlex", "")
    crossref_url: str = _setting("CITEWELL_CROSSREF_URL", "another address of Crossref", "")
    semantic_scholar_url: str = _setting("CITEWELL_SEMANTIC_SCHOLAR_URL", "another address of Semantic Scholar", "")
    europe_pmc_url: str = _setting("CITEWELL_EUROPE_PMC_URL", "another address of Europe PMC", "")
    github_url: str = _setting("CITEWELL_GITHUB_URL", "another address of GitHub's API", "")
    brave_api_key: str = _setting("BRAVE_API_KEY", "key for Brave search", "", secret=True)
    tavily_api_key: str = _setting("TAVILY_API_KEY", "key for Tavily search", "", secret=True)
    github_token: str = _setting("GITHUB_TOKEN", "token for GitHub search", "", secret=True)
    web_queries_from_notes: bool = _setting(
        "CITEWELL_WEB_QUERIES_FROM_NOTES",
        "whether names that stand in your own documents may go into queries of the web",
        False,
    )
    note_claims_to_web: bool = _setting(
        "CITEWELL_NOTE_CLAIMS_TO_WEB",
        "whether `note` asks the web for what a note states and links to, and not only for its headings and questions",
        False,
    )
    web_allow: str = _setting("CITEWELL_WEB_ALLOW", "comma list of sites; only they are read, where any is named", "")
    web_deny: str = _setting("CITEWELL_WEB_DENY", "comma list of sites that are never read", "")
    max_file_mb: int = _setting("CITEWELL_MAX_FILE_MB", "size in MB above which a file is left out (at most 1000)", 100)
    note_tool: bool = _setting("CITEWELL_NOTE_TOOL", "offer the tool that writes into notes over MCP and HTTP", False)
    policy_research_run: str = _setting(
        "CITEWELL_POLICY_RESEARCH_RUN",
        "whether recorded runs may be begun (`research:run`); `ask` asks in a terminal and refuses elsewhere",
        "allow",
        choices=("allow", "ask", "deny"),
    )
    policy_external_data_request: str = _setting(
        "CITEWELL_POLICY_EXTERNAL_DATA_REQUEST",
        "whether a run may ask the web, papers and code (`external_data:request`)",
        "allow",
        choices=("allow", "ask", "deny"),
    )
    fetch_allow: str = _setting("CITEWELL_FETCH_ALLOW", "`host:port` list the fetch guard lets through", "")
    max_cost_usd: float = _setting("CITEWELL_MAX_COST_USD", "ceiling for one run in USD; 0: none set", 0.0)
    max_cost_usd_day: float = _setting(
        "CITEWELL_MAX_COST_USD_DAY",
        "ceiling in USD for all runs of a day (UTC) together, in every process that shares their store; 0: none set",
        0.0,
        between=(0, 1_000_000),
    )
    max_tokens: int = _setting(
        "CITEWELL_MAX_TOKENS",
        "ceiling for one run in tokens, prompts and output of all its models; 0: none set",
        0,
        between=(0, 1_000_000_000),
    )
    trace_keep: int = _setting("CITEWELL_TRACE_KEEP", "traces that are always kept", 500, between=(0, 1_000_000))
    trace_max_age_days: int = _setting(
        "CITEWELL_TRACE_MAX_AGE_DAYS", "age at which further traces are pruned", 180, between=(0, 100_000)
    )
    trace_keep_all: bool = _setting("CITEWELL_TRACE_KEEP_ALL", "never prune traces", False)
    max_evidence_chars: int = _setting(
        "CITEWELL_MAX_EVIDENCE_CHARS", "characters of the prompt an answer is made from", 24_000, between=(500, 500_000)
    )
    max_chars_per_doc: int = _setting(
        "CITEWELL_MAX_CHARS_PER_DOC", "size of a row's window on the command line", 700, between=(50, 50_000)
    )
    exact_tag_reserved_chars: int = _setting(
        "CITEWELL_EXACT_TAG_RESERVED_CHARS",
        "evidence kept free for one document with exactly the tag asked for",
        2_000,
        between=(0, 100_000),
    )
    topic_brief_min_remaining_chars: int = _setting(
        "CITEWELL_TOPIC_BRIEF_MIN_REMAINING_CHARS",
        "evidence that must be left for a topic's summary to go in",
        2_000,
        between=(0, 500_000),
    )
    topic_brief_summary_max_chars: int = _setting(
        "CITEWELL_TOPIC_BRIEF_SUMMARY_MAX_CHARS", "longest summary of a topic", 2_000, between=(0, 100_000)
    )
    agentic_research_chat_enabled: bool = _setting(
        "AGENTIC_RESEARCH_CHAT_ENABLED", "whether chat runs go on searching the web by themselves", True
    )
    agentic_research_deep_enabled: bool = _setting(
        "AGENTIC_RESEARCH_DEEP_ENABLED", "whether deep runs go on searching the web by themselves", True
    )
    chat_research_max_loops: int = _setting(
        "CHAT_RESEARCH_MAX_LOOPS", "rounds of searching and reading in a chat run", 2, between=(0, 100)
    )
    chat_research_max_sources_read: int = _setting(
        "CHAT_RESEARCH_MAX_SOURCES_READ", "pages a chat run may read", 4, between=(0, 1_000)
    )
    chat_research_max_search_queries: int = _setting(
        "CHAT_RESEARCH_MAX_SEARCH_QUERIES", "queries a chat run may send", 4, between=(0, 1_000)
    )
    chat_research_timeout_seconds: float = _setting(
        "CHAT_RESEARCH_TIMEOUT_SECONDS", "deadline of a chat run", 20.0, between=(1, 86_400)
    )
    deep_research_max_loops: int = _setting(
        "DEEP_RESEARCH_MAX_LOOPS", "rounds of searching and reading in a deep run", 6, between=(0, 100)
    )
    deep_research_max_sources_read: int = _setting(
        "DEEP_RESEARCH_MAX_SOURCES_READ", "pages a deep run may read", 16, between=(0, 1_000)
    )
    deep_research_max_search_queries: int = _setting(
        "DEEP_RESEARCH_MAX_SEARCH_QUERIES", "queries a deep run may send", 18, between=(0, 1_000)
    )
    deep_research_timeout_seconds: float = _setting(
        "DEEP_RESEARCH_TIMEOUT_SECONDS", "deadline of a deep run", 150.0, between=(1, 86_400)
    )
    research_source_fetch_timeout_seconds: float = _setting(
        "RESEARCH_SOURCE_FETCH_TIMEOUT_SECONDS", "seconds a page may take", 12.0, between=(1, 600)
    )
    research_source_max_bytes: int = _setting(
        "RESEARCH_SOURCE_MAX_BYTES", "largest page that is read", 1_500_000, between=(1_000, 1_000_000_000)
    )
    research_max_bytes: int = _setting(
        "RESEARCH_MAX_BYTES",
        "bytes a run may receive from the web in all; 0: twice what its pages may have, and 250,000 a query",
        0,
        between=(0, 10_000_000_000),
    )
    research_max_citations_chat: int = _setting(
        "RESEARCH_MAX_CITATIONS_CHAT", "citations of an answer, in every profile but `deep`", 8, between=(1, 100)
    )
    research_max_citations_deep: int = _setting(
        "RESEARCH_MAX_CITATIONS_DEEP", "citations of an answer of the profile `deep`", 12, between=(1, 100)
    )
    research_model: str = _setting(
        "RESEARCH_MODEL", "model of the loop on the web and of notes; empty: the one that writes", ""
    )
    log_level: str = _setting(
        "CITEWELL_LOG_LEVEL",
        "what is logged to stderr: `info` has every search, page and call of a model, never their texts; empty: errors"
        " of `serve`, warnings of `mcp`",
        "",
        choices=("", "debug", "info", "warning", "error"),
    )
    max_runs: int = _setting("CITEWELL_MAX_RUNS", "runs that are executed at the same time", 20, between=(1, 1_000))
    max_waiting_runs: int = _setting(
        "CITEWELL_MAX_WAITING_RUNS",
        "runs a server lets wait beyond those; more are answered 429",
        20,
        between=(0, 10_000),
    )
    max_syntheses: int = _setting(
        "CITEWELL_MAX_SYNTHESES", "answers from given packs a server writes at the same time", 4, between=(1, 100)
    )
    max_body_bytes: int = _setting(
        "CITEWELL_MAX_BODY_BYTES", "largest request a server reads", 8_000_000, between=(10_000, 1_000_000_000)
    )
    heartbeat_seconds: float = _setting(
        "CITEWELL_HEARTBEAT_SECONDS", "seconds between signs of life on a stream", 5.0, between=(0.05, 600)
    )
    sources: Mapping[str, Literal["default", "environment", "file", "flag"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what nothing could honour, before anything starts."""
        for entry in setting_fields():
            if entry.metadata["between"] is not None:
                _check_between(entry, getattr(self, entry.name))

    @property
    def corpus_path(self) -> Path:
        return self.data_dir / "corpus.db"

    @property
    def pages_path(self) -> Path:
        """Pages of the web that runs have read."""
        return self.data_dir / "web.db"

    @property
    def runs_path(self) -> Path:
        return self.data_dir / "runs.db"


def setting_fields() -> tuple[Field[Any], ...]:
    """The fields a user can set, in order; docs and `doctor` are made from them."""
    return tuple(entry for entry in fields(Settings) if "env" in entry.metadata)


SETTINGS_BY_NAME: Mapping[str, Field[Any]] = {entry.name: entry for entry in setting_fields()}


def checked_value(name: str, value: Any) -> Any:
    """The value of a setting as `citewell.toml` has it; BadInput where it is none."""
    entry = SETTINGS_BY_NAME[name]
    parsed = _parse(entry, value, name)
    if entry.metadata["between"] is not None:
        _check_between(entry, parsed)
    return parsed


def shown_value(name: str, value: Any) -> str:
    """The value of a setting as it may be shown: of a secret, that it is set."""
    from citewell.text.secrets import Masker

    if SETTINGS_BY_NAME[name].metadata["secret"] and value and "://" not in str(value):
        return "set"
    return _shown(str(value), Masker(()))


def _check_between(entry: Field[Any], value: float) -> None:
    low, high = entry.metadata["between"]
    if not low <= value <= high:
        name = entry.metadata["env"]
        raise BadInput(f"{name} is {value}; it must be between {low:,} and {high:,}.", fix=f"Change or unset {name}.")


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
    from citewell.text.secrets import Masker

    masker = Masker(secret_values(settings))
    views: list[SettingView] = []
    for entry in setting_fields():
        value = getattr(settings, entry.name)
        shown = "set" if entry.metadata["secret"] and value else _shown(str(value), masker)
        source = settings.sources.get(entry.metadata["env"], "default")
        views.append(SettingView(entry.metadata["env"], shown, source, entry.metadata["used"]))
    return tuple(views)


def _shown(value: str, masker: Masker) -> str:
    from citewell.text.secrets import MASK, passwords_in

    for password in passwords_in(value):
        value = value.replace(f":{password}@", f":{MASK * len(password)}@")
    return masker.mask(value)


def unused_settings(settings: Settings) -> tuple[str, ...]:
    """The settings that somebody set though nothing uses them yet, by the names of their variables."""
    return tuple(
        entry.metadata["env"]
        for entry in setting_fields()
        if not entry.metadata["used"] and getattr(settings, entry.name) != entry.default
    )


def is_secret(name: str) -> bool:
    """Whether the setting of this variable holds a secret."""
    return any(entry.metadata["secret"] for entry in setting_fields() if entry.metadata["env"] == name)


def secret_values(settings: Settings) -> tuple[str, ...]:
    """The values that must never be shown or recorded: those of secret settings, and passwords in any address."""
    from citewell.text.secrets import passwords_in

    found: list[str] = []
    for entry in setting_fields():
        value = getattr(settings, entry.name)
        passwords = [*passwords_in(value)] if isinstance(value, str) and "://" in value else []
        # An address whose password is such a word is no secret either: nothing but the word would be masked.
        if entry.metadata["secret"] and not any(one.lower() in PLACEHOLDERS for one in passwords):
            found.append(value)
        found += passwords
    return tuple(value for value in found if value and value.lower() not in PLACEHOLDERS)


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
    import tomllib

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


@dataclass(frozen=True, slots=True)
class SettingView:
    name: str
    value: str
    source: Literal["default", "environment", "file", "flag"]
    # False: it can be set, and nothing uses it yet.
    used: bool = True
