// The little Markdown an answer may hold, as tokens and never as markup: an image is its words, a link is inert.
//   "see **this** [page](https://x.example/a)" -> text "see ", strong "this", text " ", link "page" to x.example
import { webHost } from "./text";

export type Token =
  | { kind: "text" | "strong" | "em" | "code"; text: string }
  | { kind: "link"; text: string; url: string; host: string };

// Bounded repeats: text of any length is read in a time that grows with its length only.
const PATTERN =
  /`([^`\n]{1,400})`|\*\*([^*\n]{1,400})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,400})\*(?![\w*])|!?\[([^\][\n]{0,400})\]\(([^()\s]{1,2000})(?:\s+"[^"\n]{0,200}")?\)|\[\[([^\][\n|]{1,300})(?:\|([^\][\n]{1,300}))?\]\]|(https?:\/\/[^\s<>"'`)\]]{1,2000})/g;
const LONGEST = 20_000;

export function inlineTokens(source: string): Token[] {
  if (source.length > LONGEST) return [{ kind: "text", text: source }];
  const tokens: Token[] = [];
  let from = 0;
  for (const found of source.matchAll(PATTERN)) {
    if (found.index > from) tokens.push({ kind: "text", text: source.slice(from, found.index) });
    tokens.push(tokenOf(found));
    from = found.index + found[0].length;
  }
  if (from < source.length) tokens.push({ kind: "text", text: source.slice(from) });
  return tokens;
}

function tokenOf(found: RegExpMatchArray): Token {
  const [whole, code, strong, em, label, target, page, alias, bare] = found;
  if (code !== undefined) return { kind: "code", text: code };
  if (strong !== undefined) return { kind: "strong", text: strong };
  if (em !== undefined) return { kind: "em", text: em };
  if (page !== undefined) return { kind: "text", text: alias ?? page };
  const url = target ?? bare ?? "";
  const host = whole.startsWith("!") ? null : webHost(url);
  const text = (label ?? url) || url;
  return host ? { kind: "link", text, url, host } : { kind: "text", text: whole.startsWith("!") ? `[image: ${text}]` : text };
}
