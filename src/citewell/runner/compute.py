"""Compute actions: pure functions of what was gathered, done again on every replay."""

from __future__ import annotations

from typing import assert_never

from citewell.briefs.composing import compose_report
from citewell.briefs.planning import LlmQueryPlanner
from citewell.briefs.strategies import drafted, planned, strategy_of
from citewell.briefs.triage import HybridCredibilityTriage
from citewell.briefs.writing import read_report
from citewell.domain.briefs import ReportItem
from citewell.notes.composing import compose_section
from citewell.notes.findings import disagreements_with, find_passages
from citewell.notes.prompting import read_topics
from citewell.notes.topics import extract_topics
from citewell.planning.chat_prompt import prompt_of
from citewell.planning.planner import merge_planned
from citewell.planning.strategy import plan_question
from citewell.runner.actions import (
    Action,
    Ask,
    AssessWeb,
    BindReport,
    BriefPlanned,
    BriefTopic,
    Compare,
    ComposeSection,
    DedupeItems,
    Drafted,
    Expand,
    Extract,
    ExtractTopics,
    FindPassages,
    Inspect,
    ItemsDeduped,
    ItemsTriaged,
    JudgeClaims,
    JudgeCoverage,
    Judged,
    KeepSnippets,
    KeepTexts,
    LinkNotes,
    MakePlan,
    MergePlan,
    Observation,
    PlanBrief,
    PlanMade,
    PlanMerged,
    Prepare,
    Prepared,
    QuoteReport,
    RankPages,
    ReadAnswers,
    ReadBriefPlan,
    ReadDraft,
    ReadGiven,
    ReadNote,
    ReadPage,
    ReadReport,
    ReadReview,
    ReadTopics,
    ReadTriage,
    ReportComposed,
    ReportRead,
    Retrieve,
    Reviewed,
    SearchWeb,
    SectionComposed,
    SurveyTopic,
    TopicsFound,
    TriageItems,
    Verified,
    Verify,
    WebWeighed,
    WriteSection,
)
from citewell.runner.assessing import assess
from citewell.runner.judge import judge
from citewell.synthesis.drafting import read_answer
from citewell.synthesis.extract import extract
from citewell.synthesis.likeness import texts_to_compare
from citewell.synthesis.packing import prepare_synthesis
from citewell.synthesis.review import read_review
from citewell.synthesis.sections import in_sections
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
            draft = extract(action.prepared, action.plan, action.likeness, action.readings)
            return Drafted(in_sections(draft, action.prepared) if action.in_sections else draft)
        case ReadDraft():
            draft = read_answer(action.reply, action.prepared, is_repair=action.is_repair, is_cut=action.is_cut)
            return Drafted(draft)
        case Verify() if action.verifier:
            check = strategy_of("verifier", action.verifier).verify
            return Verified(check(action.question, action.draft, action.prepared, action.plan, action.max_citations))
        case Verify():
            scores = {one.pair: one.entails for one in action.scores}
            checked = verify(
                *(action.question, action.draft, action.prepared, action.plan, action.max_citations), scores=scores
            )
            return Verified(checked)
        case AssessWeb():
            return WebWeighed(assess(action))
        case ReadReview():
            return Reviewed(*read_review(action.reply, action.verification))
        case ExtractTopics():
            return TopicsFound(extract_topics(action.note, action.focus))
        case ReadTopics():
            return TopicsFound(*read_topics(action.reply))
        case FindPassages():
            return Drafted(find_passages(action.topic, action.prepared, action.plan, action.depth, action.note))
        case ComposeSection():
            differing = disagreements_with(action.note, action.evidence)
            links = {one.source_key: one.markdown for one in action.links}
            return SectionComposed(
                compose_section(
                    *(action.findings, action.citations, differing, action.related, links),
                    offered={one.topic: one.links for one in action.offered},
                )
            )
        case PlanBrief() | ReadBriefPlan() | DedupeItems() | TriageItems() | ReadTriage():
            return _gathered(action)
        case QuoteReport():
            return Drafted(drafted(action.synthesizer or "default", action.queries))
        case ReadReport():
            read = read_report(action.reply, action.prepared, is_repair=action.is_repair, is_cut=action.is_cut)
            return ReportRead(read.draft, read.types)
        case BindReport():
            composed = compose_report(
                *(
                    action.verification,
                    action.retained,
                    action.plan,
                    action.types,
                    strategy_of("binder", action.binder),
                ),
                by_model=action.by_model,
            )
            return ReportComposed(composed)
        case (
            Ask()
            | ReadNote()
            | LinkNotes()
            | WriteSection()
            | Retrieve()
            | ReadGiven()
            | BriefTopic()
            | SurveyTopic()
            | Inspect()
            | Expand()
            | Compare()
            | ReadAnswers()
            | JudgeClaims()
            | KeepTexts()
            | SearchWeb()
            | ReadPage()
            | KeepSnippets()
            | RankPages()
        ):
            raise TypeError(f"{type(action).__name__} reaches outside: it is performed, not computed")
        case _:
            assert_never(action)


def _gathered(action: PlanBrief | ReadBriefPlan | DedupeItems | TriageItems | ReadTriage) -> Observation:
    """What is computed for a report before it is written."""
    match action:
        case PlanBrief():
            return BriefPlanned(planned(action.planner, action.brief, action.survey))
        case ReadBriefPlan():
            return BriefPlanned(*LlmQueryPlanner().read(action.reply, action.brief, action.model))
        case DedupeItems():
            return ItemsDeduped(tuple(strategy_of("deduplicator", action.deduplicator).duplicates(action.items)))
        case TriageItems():
            triage = strategy_of("triage", action.triage)
            verdicts = tuple(triage.verdicts(action.items, action.floor))
            ask: tuple[ReportItem, ...] = ()
            if isinstance(triage, HybridCredibilityTriage):
                ask = triage.to_ask(action.items, verdicts, action.floor)
            return ItemsTriaged(verdicts, tuple(item.ref_id for item in ask))
        case ReadTriage():
            read = HybridCredibilityTriage().read
            verdicts, error = read(action.reply, action.items, action.verdicts, action.floor, action.model)
            return ItemsTriaged(verdicts, (), error)
