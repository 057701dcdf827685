"""What may be done at all: classes of actions, each allowed, asked for, or denied by a setting.

    research:run            medium   a recorded run, of whatever profile
    external_data:request   high     searches and pages of the web, papers and code

A run that may not be begun is refused before anything of it is done. What a policy guards is the beginning of a run on
any door; it does not take back what a run that was allowed has sent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from citewell.errors import BadInput

ActionClass = Literal["research:run", "external_data:request"]
Risk = Literal["medium", "high"]
Policy = Literal["allow", "ask", "deny"]
RISKS: dict[ActionClass, Risk] = {"research:run": "medium", "external_data:request": "high"}
VARIABLES: dict[ActionClass, str] = {
    "research:run": "CITEWELL_POLICY_RESEARCH_RUN",
    "external_data:request": "CITEWELL_POLICY_EXTERNAL_DATA_REQUEST",
}
_SAID: dict[ActionClass, str] = {
    "research:run": "starting a research run",
    "external_data:request": "asking the web, papers or code searches for data",
}


@dataclass(frozen=True, slots=True)
class Permission:
    """What is about to be done, for anyone who is asked: its class, its risk, and what exactly."""

    action: ActionClass
    what: str

    @property
    def risk(self) -> Risk:
        return RISKS[self.action]


# Asks a person; None where nobody can be asked.
Approve = Callable[[Permission], bool]


class NotPermitted(BadInput):
    """A policy forbids it, or wants somebody to be asked who is not there or said no (exit 2, HTTP 403)."""

    code = "not_permitted"


def permit(wanted: Permission, policy: Policy, approve: Approve | None) -> None:
    """Go on only if the policy, or the person it wants asked, lets it."""
    if policy == "allow":
        return
    variable, said = VARIABLES[wanted.action], _SAID[wanted.action]
    if policy == "deny":
        raise NotPermitted(
            f"The policy denies {said} ({wanted.action}, {wanted.risk} risk).",
            fix=f"Whoever set it can change {variable} to allow or ask.",
        )
    if approve is None:
        raise NotPermitted(
            f"The policy wants somebody to be asked before {said} ({wanted.action}, {wanted.risk} risk), "
            "and nobody can be asked here.",
            fix=f"Ask for it with 'citewell' in a terminal, or set {variable}=allow.",
        )
    if not approve(wanted):
        raise NotPermitted(f"You said no to {said}: {wanted.what}.", fix="Nothing was sent and nothing was begun.")
