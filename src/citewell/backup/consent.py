"""Which settings of a backup need a person's word: those that send data elsewhere, or permit more than is permitted.

A backup may come from somebody else. A setting is put in place without a word only where it is known to do no harm, or
permits less than before: a setting that this file does not know is asked about. What nobody accepts stays as it is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from citewell.backup.reading import refused
from citewell.domain.backups import AcceptSettings, SettingChange
from citewell.domain.errors import BadInput
from citewell.domain.library import Problem
from citewell.settings import SETTINGS_BY_NAME, checked_value, shown_value

# Sizes, times and counts, and what is done on this machine alone.
HARMLESS = frozenset(
    "planner_seconds max_output_tokens embeddings encode_minutes summaries max_file_mb trace_keep trace_max_age_days"
    " trace_keep_all max_evidence_chars max_chars_per_doc exact_tag_reserved_chars topic_brief_min_remaining_chars"
    " topic_brief_summary_max_chars chat_research_max_loops chat_research_max_sources_read"
    " chat_research_max_search_queries chat_research_timeout_seconds deep_research_max_loops"
    " deep_research_max_sources_read deep_research_max_search_queries deep_research_timeout_seconds"
    " research_source_fetch_timeout_seconds research_source_max_bytes research_max_bytes research_max_citations_chat"
    " research_max_citations_deep log_level max_runs max_waiting_runs max_syntheses max_body_bytes"
    " heartbeat_seconds".split()
)
# Where these have their default, nobody is asked and nothing is sent. An address is none of them: without the one that
# is set here, another would be used.
_OFF_BY_DEFAULT = frozenset(
    "model planner_model review_model research_model embeddings_model reranker judge reader search fetch_allow"
    " model_api_key brave_api_key tavily_api_key github_token".split()
)
_POLICIES = ("deny", "ask", "allow")


@dataclass(frozen=True, slots=True)
class SettledSettings:
    """What is put in place, and what is not, with the reason."""

    values: dict[str, Any]
    left_out: tuple[Problem, ...]


def settled(text: str, here: str, accept: AcceptSettings) -> SettledSettings:
    """The settings of a backup, over those that are here; a person is asked where that is needed."""
    try:
        offered = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise refused(f"its settings are not valid TOML ({error})") from None
    left_out = [Problem(name[:80], "this version does not know it") for name in offered if name not in SETTINGS_BY_NAME]
    values: dict[str, Any] = {}
    for name in offered.keys() & SETTINGS_BY_NAME.keys():
        try:
            values[name] = checked_value(name, offered[name])
        except BadInput as error:
            left_out.append(Problem(name, error.message))
    present = _read(here)
    changes = tuple(_changes(present, values))
    if changes and not accept(changes):
        for change in changes:
            values.pop(change.name, None)
            if change.name in present:
                values[change.name] = present[change.name]
            left_out.append(Problem(change.name, f"{change.value or 'nothing'} was not accepted"))
    return SettledSettings({name: values[name] for name in SETTINGS_BY_NAME if name in values}, tuple(left_out))


def _read(text: str) -> dict[str, Any]:
    """The settings that are here, as far as they are valid."""
    found: dict[str, Any] = {}
    try:
        stored = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return found
    for name in stored.keys() & SETTINGS_BY_NAME.keys():
        try:
            found[name] = checked_value(name, stored[name])
        except BadInput:
            continue
    return found


def _changes(here: Mapping[str, Any], offered: Mapping[str, Any]) -> list[SettingChange]:
    changes: list[SettingChange] = []
    for name, entry in SETTINGS_BY_NAME.items():
        before, after = here.get(name, entry.default), offered.get(name, entry.default)
        if before != after and name not in HARMLESS and not _permits_less(name, before, after):
            changes.append(SettingChange(name, shown_value(name, before), shown_value(name, after)))
    return changes


def _permits_less(name: str, before: Any, after: Any) -> bool:
    """Whether a change sends no more and permits no more than before."""
    if name in _OFF_BY_DEFAULT:
        return bool(after == SETTINGS_BY_NAME[name].default)
    if name.startswith("policy_"):
        return _POLICIES.index(after) < _POLICIES.index(before)
    if isinstance(after, bool):
        return not after
    match name:
        case "web_deny":
            return _listed(before) <= _listed(after)
        case "web_allow":
            return bool(_listed(after)) and (not _listed(before) or _listed(after) <= _listed(before))
        case "max_cost_usd" | "max_tokens":
            return bool(after > 0 and (before == 0 or after < before))
        case _:
            return False


def _listed(text: str) -> set[str]:
    return {one.strip().lower() for one in text.split(",") if one.strip()}
