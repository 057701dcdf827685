// What codes of the server mean to a person.
import type { CheckedSentence, EvidenceRow, ResearchPack, RunResult, SourceType, Verdict } from "../api/types";

export const VERDICTS: Record<Verdict, string> = {
  supported: "said by its source",
  partial: "only partly in its source",
  unsupported: "not found in its source",
  contradicted: "removed: its source says otherwise",
  not_a_claim: "states no fact",
};

/** Who checked a sentence, and what came of it; what nobody checked is called that. */
export function checkedAs(one: CheckedSentence): string {
  if (one.kind !== "claim" || one.verdict === "not_a_claim") return VERDICTS.not_a_claim;
  if (one.check.kind === "none") return "no judge read it; its quote is exact";
  if (one.check.kind === "exact") return one.verdict === "supported" ? "word for word in its source" : VERDICTS[one.verdict];
  return `${VERDICTS[one.verdict]}, judged by ${one.check.judge}`;
}

/** What is said behind a sentence that is an exception; nothing behind the others. */
export function remarkOn(one: CheckedSentence): string {
  if (one.check.kind === "none" || !["claim", "gap"].includes(one.kind)) return "";
  const where = one.citations.map((n) => `[${n}]`).join(" ") || "any source";
  if (one.verdict === "contradicted") return `removed: ${one.reason || "its source says otherwise"}`;
  if (one.verdict === "unsupported") return `not found in ${where}`;
  if (one.verdict === "partial") return `only partly in ${where}${one.check.wrong ? `: not “${one.check.wrong}”` : ""}`;
  return "";
}

export const PROFILES: Record<string, string> = { local: "what you saved", chat: "and the web, quickly", deep: "and the web, deeply" };

export const SOURCE_TYPES: Record<SourceType, string> = {
  vault_note: "Note",
  apple_note: "Apple note",
  web: "Web page",
  pdf: "PDF",
  github: "GitHub",
  youtube: "YouTube",
  x: "X",
  transcript: "Transcript",
  image: "Image",
  bookmark: "Bookmark",
  feed: "Feed",
  office: "Office",
  text: "Text",
};

const ROLES: Record<EvidenceRow["role"], string> = {
  user_note: "your words",
  raw_source: "raw excerpt",
  source_summary: "summary",
  item_summary: "summary",
  chunk_summary: "summary",
  transcript: "transcript",
  ocr: "OCR",
  attachment: "attachment",
  backlink_context: "backlink",
  exact_tag: "exact tag",
  graph_related: "related",
};

const DERIVED = new Set<EvidenceRow["role"]>(["source_summary", "item_summary", "chunk_summary"]);

export function roleLabel(role: EvidenceRow["role"]): { label: string; isDerived: boolean } {
  return { label: ROLES[role] ?? role, isDerived: DERIVED.has(role) };
}

export const STOP_REASONS: Record<RunResult["stop_reason"], string> = {
  enough_evidence: "The evidence was enough.",
  no_evidence: "Nothing that was found answers the question.",
  weak_evidence_budget_exhausted: "The evidence is weak.",
  max_steps_reached: "The run took as many steps as it may.",
  timeout_exceeded: "The run took as long as it may.",
  synthesis_unavailable: "The model was not available.",
  synthesis_failed: "The model gave no usable answer.",
  verification_failed: "The answer did not pass its own checks, so it is not shown.",
  planner_failed_deterministic_used: "The planning model failed; rules planned instead.",
  cost_limit_reached: "The ceiling for cost or tokens was reached.",
  cancelled: "Stopped.",
  trace_failed: "The record could not be written.",
};

const WARNINGS: Record<string, string> = {
  extractive: "Quoted from your documents, without a model.",
  truncated: "Not all of the evidence fitted.",
  answered_without_model: "The model could not answer: quoted from your documents instead.",
  model_unavailable: "The model is not available: quoted from your documents instead.",
  model_error: "The model failed; what was found is below.",
  model_timeout: "The model took too long.",
  no_evidence: "Nothing that was found answers the question.",
  weak_evidence: "What was found speaks of this only in part.",
  partial_claims: "Some sentences are only partly proven by their quotes.",
  unsupported_claims: "Some sentences were not found in their sources.",
  contradicted_claims: "Some sentences say otherwise than their quotes, and were taken back.",
  evidence_truncated: "Not all of the evidence fitted.",
  citations_repaired: "Some sentences cited the wrong source; the right one is cited instead.",
  incomplete: "The answer is not complete: it was cut short.",
  answer_cut_off: "The model's answer was cut off.",
  planner_failed_deterministic_used: "The planning model gave no plan: rules planned.",
  semantic_lane_unavailable: "Search by meaning was not available: words alone were searched.",
  judge_unavailable: "The judge was not available: sentences are checked by rules alone.",
  reader_unavailable: "The reader was not available: passages were chosen without it.",
  review_failed: "The reviewing model gave no review.",
  review_doubts: "The reviewing model has doubts: see Verification in the Lab.",
  secrets_withheld: "Passages that hold keys or tokens were not sent to the hosted model.",
  verifier_failed: "The answer could not be checked: read it beside its sources.",
  trace_failed: "The record of this run could not be written.",
  evidence_refused: "Some of the given evidence is not in the corpus, and was not used.",
  injection_suspected: "A page gives orders to the program: nothing of it was used.",
  no_search_provider: "No search provider is set: only what you saved was searched.",
  nothing_found_on_the_web: "The web gave nothing: only what you saved was used.",
  web_loop_failed: "Reading the web failed: a single search was made instead.",
  web_snippets_only: "Only the snippets of a search were used, no page was read.",
  component_failed: "A part of your own failed: the shipped one was used.",
  evaluator_failed_rules_used: "The model gave no advice between rounds: rules decided.",
  source_removed_during_run: "A source was removed while the run went on.",
  texts_not_kept: "The cited texts could not be kept: they may not open later.",
  topic_brief_failed: "The overview of the topic could not be made.",
  inspection_failed: "The best rows could not be read more closely.",
  expansion_failed: "Related documents could not be searched.",
  retry_failed: "The second search failed; the first one stands.",
};

export function warningText(code: string): string {
  return WARNINGS[code] ?? code.replaceAll("_", " ");
}

/** Filters that were on, in words. */
export function activeFilters(filters: ResearchPack["query_plan"]["filters"]): string[] {
  const { source_types, tags, collections, only, since, until, exclude_paths, exclude_domains } = filters;
  return [
    source_types.length && `kind ${source_types.map((one) => SOURCE_TYPES[one] ?? one).join(" or ")}`,
    tags.length && `tag ${tags.map((one) => `#${one}`).join(", ")}`,
    collections.length && `collection ${collections.join(" or ")}`,
    only.length && `only ${only.join(", ")}`,
    since && `since ${since}`,
    until && `until ${until}`,
    exclude_paths.length && `without ${exclude_paths.join(", ")}`,
    exclude_domains.length && `without ${exclude_domains.join(", ")}`,
  ].filter((one): one is string => !!one);
}

export const GATES: Record<string, string> = {
  cited_keys_in_evidence: "Every cited source is in the evidence",
  key_prefixes_exact: "Keys are exact",
  quotes_exact: "Quotes stand in the source to the letter",
  marks_in_evidence: "Every mark points at evidence",
  answer_cites_evidence: "The answer cites evidence",
  no_answer_without_evidence: "No answer without evidence",
  no_denial_of_cited_anchor: "It does not deny what it cites",
  some_claim_stands: "At least one claim stands",
};
