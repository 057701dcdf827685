// What a run's log says, taken apart for people: stages with their time, variants, prompts, and how to ask it again.
import type { LogEntry, RunBody } from "../api/types";

export interface StageTime {
  stage: string;
  seconds: number;
  lines: string[];
}

export interface Prompt {
  purpose: string;
  model: string;
  messages: { role: string; content: string }[];
}

export interface VariantFound {
  kind: string;
  query: string;
  chunks: number;
  keys: readonly string[];
}

type Body = Record<string, unknown>;

const isObject = (value: unknown): value is Body => typeof value === "object" && value !== null && !Array.isArray(value);
const at = (entry: LogEntry): number => Date.parse(entry.at) / 1000;

export function stageTimes(entries: readonly LogEntry[]): StageTime[] {
  const stages: StageTime[] = [];
  let began = 0;
  for (const entry of entries) {
    const last = stages.at(-1);
    if (entry.kind === "stage_entered") {
      if (last) last.seconds = at(entry) - began;
      began = at(entry);
      stages.push({ stage: entry.body.stage, seconds: 0, lines: [] });
    } else if (last && entry.kind === "decision_made") last.lines.push(decisionLine(entry.body as unknown as Body));
    else if (last && entry.kind === "warning_raised") last.lines.push(`warning: ${entry.body.code.replaceAll("_", " ")}`);
    else if (last && entry.kind === "run_finished") last.seconds = at(entry) - began;
  }
  return stages;
}

function decisionLine(body: Body): string {
  if (typeof body.text === "string" && body.text) return body.text;
  const data = isObject(body.data) ? body.data : {};
  const said = Object.entries(data)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => `${name.replaceAll("_", " ")}: ${Array.isArray(value) ? value.join(", ") : String(value)}`);
  return `${String(body.name).replaceAll("_", " ")} (${said.join("; ")})`;
}

/** Every prompt that was sent to a model, to the letter. */
export function prompts(entries: readonly LogEntry[]): Prompt[] {
  const found: Prompt[] = [];
  for (const entry of entries) {
    if (entry.kind !== "action_intended") continue;
    const body = entry.body.body as Body | null | undefined;
    const request = isObject(body?.request) ? body.request : body;
    if (!isObject(request) || !Array.isArray(request.messages)) continue;
    found.push({ purpose: String(request.purpose ?? entry.body.action), model: String(request.model ?? ""), messages: request.messages });
  }
  return found;
}

/** What each query found. */
export function variantsFound(entries: readonly LogEntry[]): VariantFound[] {
  for (const entry of entries) {
    if (entry.kind !== "observation_recorded") continue;
    const observation = entry.body.observation as Body | null | undefined;
    const value = observation?.type === "Retrieved" && isObject(observation.value) ? observation.value : null;
    const report = isObject(value?.report) ? value.report : null;
    if (Array.isArray(report?.variants)) return report.variants as VariantFound[];
  }
  return [];
}

/** The body that asks the same question again. */
export function askedAgain(entries: readonly LogEntry[]): RunBody | null {
  const first = entries[0];
  if (first?.kind !== "run_started") return null;
  const { question, original_question, filters, limits, conversation, max_evidence_chars, topic, topic_brief, models } = first.body.request;
  const body: Partial<RunBody> = {
    question: original_question || question,
    surface: "web_chat",
    limit: limits.limit,
    max_chars_per_doc: limits.max_chars_per_doc,
    max_evidence_chars,
    source_types: [...(filters.source_types ?? [])],
    tags: [...(filters.tags ?? [])],
    collections: [...(filters.collections ?? [])],
    only: [...(filters.only ?? [])],
    history: (conversation?.history ?? []).map((one) => ({ id: one.id, question: one.question })),
    pinned: [...(conversation?.pinned ?? [])],
  };
  if (filters.since) body.since = filters.since;
  if (filters.until) body.until = filters.until;
  if (topic) body.topic = topic;
  if (typeof topic_brief === "boolean") body.topic_brief = topic_brief;
  if (models?.writer) body.model = models.writer;
  return body as RunBody;
}
