// Text by code points: the server counts them, JavaScript counts UTF-16 units.

const SURROGATE = /[\ud800-\udbff]/;

/** The index in UTF-16 units of a place counted in code points. */
export function unitIndex(text: string, points: number): number {
  if (!SURROGATE.test(text)) return Math.min(Math.max(points, 0), text.length);
  let at = 0;
  for (let left = points; left > 0 && at < text.length; left--) {
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return at;
}

export interface Piece {
  text: string;
  isMatch: boolean;
}

const LETTER = /[\p{L}\p{N}]/u;

/** A text in pieces, those that match one of the words marked; words match from their beginning on. */
export function marked(text: string, words: readonly string[], most = 60): Piece[] {
  const wanted = words.map((word) => word.toLowerCase().trim()).filter((word) => word.length > 1);
  if (!wanted.length) return [{ text, isMatch: false }];
  const pattern = new RegExp(wanted.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  const pieces: Piece[] = [];
  let from = 0;
  let count = 0;
  for (const found of text.matchAll(pattern)) {
    const at = found.index;
    if (at < from || (at > 0 && LETTER.test(text[at - 1] ?? "") && LETTER.test(found[0][0] ?? ""))) continue;
    if (++count > most) break;
    if (at > from) pieces.push({ text: text.slice(from, at), isMatch: false });
    pieces.push({ text: found[0], isMatch: true });
    from = at + found[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isMatch: false });
  return pieces;
}

/** Markdown's own signs, which say nothing in a line of prose. */
function prose(text: string): string {
  return withoutFrontMatter(text)
    .replace(/^\s{0,3}#{1,6}\s+/gm, "")
    .replace(/!?\[\[([^\][|\n]{1,200})(?:\|([^\][\n]{1,200}))?\]\]/g, (_, page: string, alias?: string) => alias ?? page)
    .replace(/^\s*(?:---|\|[\s:|-]+\|)\s*$/gm, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** Part of a text that is no longer than so many units, cut at a word where there is one. */
export function shortened(text: string, most: number): string {
  const flat = prose(text);
  if (flat.length <= most) return flat;
  const cut = flat.slice(0, most);
  const at = cut.lastIndexOf(" ");
  return `${(at > most * 0.6 ? cut.slice(0, at) : cut).trimEnd()}…`;
}

/** The part of a window around the first of these words, without the front matter it may begin with. */
export function snippet(text: string, words: readonly string[], most = 280): string {
  const flat = prose(text);
  const first = words
    .map((word) => flat.toLowerCase().indexOf(word.toLowerCase()))
    .filter((at) => at >= 0)
    .sort((a, b) => a - b)[0];
  if (first === undefined || first < most * 0.7) return shortened(flat, most);
  const from = flat.indexOf(" ", Math.max(0, first - Math.floor(most / 3)));
  return `…${shortened(flat.slice(from < 0 ? first : from + 1), most)}`;
}

function withoutFrontMatter(text: string): string {
  const end = /(^|\n)---\s*\n/.exec(text.replace(/^---\s*\n/, ""));
  if (!end || !/^(---\s*\n)?[\w-]+:/.test(text)) return text;
  const skipped = text.length - text.replace(/^---\s*\n/, "").length;
  return text.slice(skipped + end.index + end[0].length) || text;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

export function seconds(value: number): string {
  return value < 10 ? `${value.toFixed(1)} s` : value < 90 ? `${Math.round(value)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export function cost(value: number | null | undefined): string {
  if (value === null || value === undefined) return "cost unknown";
  if (value === 0) return "free";
  return value < 0.01 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

export function when(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.valueOf()) ? iso : date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** The host of an address somebody else wrote, where it is one that may be opened. */
export function webHost(url: string): string | null {
  try {
    const parsed = new URL(url);
    return parsed.protocol === "http:" || parsed.protocol === "https:" ? parsed.host : null;
  } catch {
    return null;
  }
}
