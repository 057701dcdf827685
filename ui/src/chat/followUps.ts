// Questions worth asking next, made from what the run found: disagreements, what stayed open, what was not used.
import type { ResearchPack } from "../api/types";
import { shortened } from "../lib/text";
import type { Turn } from "./session.svelte";

const MOST = 3;

export function followUps(turn: Turn, pack: ResearchPack): string[] {
  const found: string[] = [];
  const cited = new Set(turn.result?.citations.map((one) => one.source_key));
  for (const one of turn.result?.contradictions ?? []) found.push(`Which is right about ${one.about}: ${one.values.join(" or ")}?`);
  const subject = subjectOf(pack);
  for (const row of pack.evidence) {
    if (cited.has(row.source_key) || row.role.endsWith("_summary")) continue;
    const title = shortened(row.title, 60);
    if (subject && !title.toLowerCase().includes(subject.toLowerCase())) found.push(`What does “${title}” say about ${subject}?`);
    if (found.length >= 2) break;
  }
  for (const pivot of pack.topic_brief?.pivots ?? []) {
    if (pivot.kind === "entity" || pivot.kind === "document") found.push(`Tell me about ${shortened(pivot.label, 60)}`);
  }
  if (subject && cited.size) found.push(`What happened with ${subject} since then?`);
  return [...new Set(found)].filter((one) => one !== turn.question).slice(0, MOST);
}

/** What the question is about, in its own words. */
function subjectOf(pack: ResearchPack): string {
  const concepts = pack.query_plan.concepts;
  const named = concepts.find((one) => one.role === "anchor") ?? concepts.find((one) => one.role === "content");
  return (named?.name ?? "").replace(/['’]s$/, "");
}
