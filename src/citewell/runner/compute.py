"""Compute actions: pure functions of what was gathered, done again on every replay."""

from __future__ import annotations

from typing import assert_never

from citewell.planning.chat_prompt import prompt_of
from citewell.planning.planner import merge_planned
from citewell.planning.strategy import plan_question
from citewell.runner.actions import (
    Action,
    Ask,
    BriefTopic,
    Compare,
    Drafted,
    Expand,
    Extract,
    Inspect,
    JudgeClaims,
    JudgeCoverage,
    Judged,
    KeepTexts,
    MakePlan,
    MergePlan,
    Observation,
    PlanMade,
    PlanMerged,
    Prepare,
    Prepared,
    ReadDraft,
    ReadGiven,
    ReadReview,
    Retrieve,
    Reviewed,
    Verified,
    Verify,
)
from citewell.runner.judge import judge
from citewell.synthesis.drafting import read_answer
from citewell.synthesis.extract import extract
from citewell.synthesis.likeness import texts_to_compare
from citewell.synthesis.packing import prepare_synthesis
from citewell.synthesis.review import read_review
from citewell.synthesis.verify import verify


def compute(action: Action) -> Observation:
    """The result of a compute action."""
    match action:
        case MakePlan():
            prompt = prompt_of(action.question, action.conversation)
            return PlanMade(
                plan_question(
                    prompt,
                    action.filters,
                    action.limits,
                    topic=action.topic,
                    include_topic_brief=action.topic_brief,
                )
            )
        case MergePlan():
            return PlanMerged(merge_planned(action.plan, action.reply, action.model))
        case JudgeCoverage():
            result = judge(
                action.pack,
                retries_left=action.retries_left,
                expansions_left=action.expansions_left,
                tried=action.tried,
            )
            return Judged(result)
        case Prepare():
            ready = prepare_synthesis(
                *(action.pack, action.max_evidence_chars, action.rules_chars, action.reserves),
                withhold_secrets=action.withhold_secrets,
            )
            return Prepared(ready, texts_to_compare(ready, action.pack.query_plan) if action.by_meaning else ())
        case Extract():
            return Drafted(extract(action.prepared, action.plan, action.likeness))
        case ReadDraft():
            draft = read_answer(action.reply, action.prepared, is_repair=action.is_repair, is_cut=action.is_cut)
            return Drafted(draft)
        case Verify():
            scores = {one.pair: one.entails for one in action.scores}
            checked = verify(
                *(action.question, action.draft, action.prepared, action.plan, action.max_citations), scores=scores
            )
            return Verified(checked)
        case ReadReview():
            return Reviewed(*read_review(action.reply, action.verification))
        case (
            Ask()
            | Retrieve()
            | ReadGiven()
            | BriefTopic()
            | Inspect()
            | Expand()
            | Compare()
            | JudgeClaims()
            | KeepTexts()
        ):
            raise TypeError(f"{type(action).__name__} reaches outside: it is performed, not computed")
        case _:
            assert_never(action)
