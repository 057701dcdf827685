"""The planning moves: when a model is asked to help with the searches, and what follows from its answer. Pure.

A failure costs nothing but the help: the plan made without a model is always there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from citewell.domain.chat import ChatReply
from citewell.domain.decisions import PlannerAsked, PlannerFailed, PlannerMerged, PlannerSkipped
from citewell.domain.queries import QueryPlan
from citewell.domain.runs import Failure
from citewell.planning.chat_prompt import prompt_of
from citewell.planning.planner import Merged, planner_request, wants_model, without_model
from citewell.runner import budgets
from citewell.runner.actions import Ask, AskFailed, MergePlan
from citewell.runner.playbooks.transitions import Transition
from citewell.runner.state import RunState

# A planner may be asked once, and once more to mend a reply that cannot be read.
MAX_ASKED = 2
# However long it may take, never more than this share of the run's own time.
_FAIR_SHARE = 0.25

GoOn = Callable[[RunState, QueryPlan], Transition]


def before_searching(state: RunState, plan: QueryPlan, go_on: GoOn) -> Transition:
    """Ask a model first where one is chosen and worth it; else go on, and say why it was left out."""
    if not state.request.models.planner or state.finish_requested:
        return go_on(state, plan)
    wanted, why = wants_model(plan, prompt_of(state.request.question, state.request.conversation))
    if wanted:
        return _ask(replace(state, plan=plan), plan, go_on, why)
    skipped = replace(plan, planner_status="skipped_by_policy")
    return go_on(state, skipped).after(PlannerSkipped(why))


def after_weak_search(state: RunState, go_on: GoOn) -> Transition | None:
    """What was found is weak and no model was asked yet: now it is worth asking."""
    if not state.request.models.planner or state.planner_asked or state.plan is None or state.finish_requested:
        return None
    return _ask(state, state.plan, go_on, "what was found is weak")


def _ask(
    state: RunState, plan: QueryPlan, go_on: GoOn, why: str, unreadable: tuple[str, str] | None = None
) -> Transition:
    use = state.request.models
    seconds = min(use.planner_seconds, state.budget.seconds * _FAIR_SHARE, state.seconds_left)
    prompt = prompt_of(state.request.question, state.request.conversation)
    wanted = planner_request(plan, prompt, use.planner, round(max(seconds, 0.5), 3), unreadable)
    request = budgets.fitted(wanted, use.planner_price, state.spend, use, budgets.reserved(state))
    if request is None:
        left_out = without_model(plan, use.planner, "the cost ceiling leaves no room for it")
        return go_on(_warned(state), left_out).after(PlannerSkipped("the cost ceiling"))
    asked = replace(state, planner_asked=state.planner_asked + 1)
    return Transition(asked, (Ask(request),), (PlannerAsked(use.planner, why),))


def replied(state: RunState, reply: ChatReply) -> Transition:
    """Read the reply; the plan it is merged into is the one that was made without it."""
    assert state.plan is not None
    return Transition(replace(state, planner_reply=reply.text), (MergePlan(state.plan, reply.text, reply.model),))


def merged(state: RunState, result: Merged, go_on: GoOn) -> Transition:
    """Go on with the merged plan, mend an unreadable reply once, or go on without."""
    assert state.plan is not None
    dropped = tuple(f"{text}: {reason}" for text, reason in result.dropped)
    decision = PlannerMerged(state.planner_reply[:4_000], tuple(result.accepted), dropped, result.error)
    if not result.error:
        return go_on(state, result.plan).after(decision)
    if state.planner_asked < MAX_ASKED and not state.finish_requested:
        again = _ask(state, state.plan, go_on, "its reply could not be read", (state.planner_reply, result.error))
        return again.after(decision)
    return _without(state, f"its reply could not be read: {result.error}", go_on).after(decision)


def failed(state: RunState, seen: AskFailed | Failure, go_on: GoOn) -> Transition:
    """A planner that gave no reply: said, and gone on without."""
    return _without(state, seen.message, go_on)


def let_go(state: RunState, go_on: GoOn) -> Transition:
    """Time is up while the planner still thinks."""
    return _without(state, "it was not waited for", go_on)


def _without(state: RunState, error: str, go_on: GoOn) -> Transition:
    assert state.plan is not None
    plan = without_model(state.plan, state.request.models.planner, error)
    return go_on(_warned(state), plan).after(PlannerFailed(plan.planner_error or ""))


def _warned(state: RunState) -> RunState:
    return replace(state, warnings=(*state.warnings, "planner_failed_deterministic_used"))
