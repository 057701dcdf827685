// A text cut into lines and each line into pieces, so that a quoted passage can be shown exactly where it stands.
//   "# Lamp\nIt was lit in 1859." with 1859 highlighted -> a heading line, then a line of three pieces
import { unitIndex } from "../lib/text";

export interface Range {
  start: number;
  end: number;
}

export interface LinePiece {
  text: string;
  mark: "none" | "quote" | "highlight";
}

export interface Line {
  kind: "heading" | "list" | "table" | "meta" | "text" | "blank";
  pieces: LinePiece[];
  /** What begins here: a page, or a time of a transcript. */
  begins?: string;
}

export interface Shown {
  lines: Line[];
  before: number;
  after: number;
}

interface SectionLike {
  start: number;
  heading?: string | null;
  page?: number | null;
}

/** The part of a text around what is quoted, `reach` code units to each side, as lines. */
export function linesOf(
  text: string,
  quote: Range | undefined,
  highlight: Range | undefined,
  sections: readonly SectionLike[],
  isTranscript: boolean,
  reach: number,
): Shown {
  const units = (range: Range | undefined) => range && { start: unitIndex(text, range.start), end: unitIndex(text, range.end) };
  const quoted = units(quote);
  const decisive = units(highlight);
  let from = Math.max(0, (quoted?.start ?? 0) - reach);
  let to = Math.min(text.length, (quoted?.end ?? 0) + reach);
  if (from > 0) from = text.lastIndexOf("\n", from) + 1;
  if (to < text.length) to = text.indexOf("\n", to) < 0 ? text.length : text.indexOf("\n", to);
  const marks = beginnings(text, sections, isTranscript);
  const lines: Line[] = [];
  let isMeta = from === 0 && text.startsWith("---\n");
  let metaEnds = false;
  for (let at = from; at < to; ) {
    const newline = text.indexOf("\n", at);
    const end = newline < 0 || newline > to ? to : newline;
    const raw = text.slice(at, end);
    const line: Line = { kind: isMeta ? "meta" : kindOf(raw), pieces: pieces(text, at, end, quoted, decisive) };
    if (isMeta && at > from && raw === "---") metaEnds = true;
    if (metaEnds) isMeta = false;
    while (marks[0] && marks[0].at <= at) line.begins = marks.shift()?.label ?? "";
    lines.push(line);
    at = end + 1;
  }
  return { lines, before: from, after: text.length - to };
}

function beginnings(text: string, sections: readonly SectionLike[], isTranscript: boolean): { at: number; label: string }[] {
  const found: { at: number; label: string }[] = [];
  let page: number | null = null;
  for (const section of sections) {
    if (section.page && section.page !== page) {
      page = section.page;
      found.push({ at: unitIndex(text, section.start), label: `Page ${page}` });
    } else if (isTranscript && section.heading) found.push({ at: unitIndex(text, section.start), label: section.heading });
  }
  return found;
}

function kindOf(line: string): Line["kind"] {
  if (!line.trim()) return "blank";
  if (/^#{1,6}\s/.test(line)) return "heading";
  if (/^\s*([-*+•]|\d{1,3}[.)])\s/.test(line)) return "list";
  return /^\s*\|.*\|/.test(line) ? "table" : "text";
}

function pieces(text: string, from: number, to: number, quote?: Range, highlight?: Range): LinePiece[] {
  const cuts = new Set([from, to]);
  for (const range of [quote, highlight]) {
    if (range) for (const cut of [range.start, range.end]) if (cut > from && cut < to) cuts.add(cut);
  }
  const places = [...cuts].sort((a, b) => a - b);
  const inside = (at: number, range?: Range) => !!range && at >= range.start && at < range.end;
  return places.slice(0, -1).map((at, number) => ({
    text: text.slice(at, places[number + 1]),
    mark: inside(at, highlight) ? "highlight" : inside(at, quote) ? "quote" : "none",
  }));
}
