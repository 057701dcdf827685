"""Exact title or source: one document, named by its title, file, link or key. The title counts only as a phrase."""

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

_DOCUMENT = r"(?:note|page|paper|document|file|article|pdf|essay|book|bookmark|report|post|memo|letter|daily\s+note)"
FILE_ENDINGS = "md|pdf|html?|txt|docx?|epub|vtt|srt|csv|pptx?|xlsx?"
_QUOTE = "[\"“„«「']"
_UNQUOTE = "[\"”“»」']"

EXACT_TITLE = Family(
    name="exact_title",
    title="Exact title or source",
    asks="One document that is named by its title, file name, wikilink or source key.",
    patterns=patterns(
        r"\[\[(?P<title>[^\]|#]{1,150})(?:[|#][^\]]*)?\]\]",
        rf"\b{_DOCUMENT}\s+(?:called|titled|named|entitled)\s+{_QUOTE}(?P<title>[^\"”»」\n]{{1,150}}?){_UNQUOTE}(?!\w)",
        rf"\b{_DOCUMENT}\s+(?:called|titled|named|entitled)\s+(?P<title>[^\"“”?!,;]{{1,80}}?)"
        r"(?:\s+(?:say|says|about|state|states|mention|mentions|contain|contains|is|was|have|has|give|gives|list|lists)\b.*)?[\s?.!]*$",
        rf"\b(?:my|the)\s+{_DOCUMENT}\s+{_QUOTE}(?P<title>[^\"”»」\n]{{1,150}}?){_UNQUOTE}(?!\w)",
        rf"^(?:open|show|read|get|find)\s+(?:me\s+)?{_QUOTE}(?P<title>[^\"”»」\n]{{1,150}}?){_UNQUOTE}[\s?.!]*$",
        rf"^\s*{_QUOTE}(?P<title>[^\"”»」\n]{{1,150}}?){_UNQUOTE}\s*$",
        rf"^(?:open|show|read|get|find)?\s*(?P<title>[\w][\w .'’()-]{{0,80}}?)\.(?:{FILE_ENDINGS})[\s?!]*$",
        rf"(?<![\w/.-])(?P<title>[\w][\w'’()-]{{0,80}})\.(?:{FILE_ENDINGS})\b",
        # A line in title case and nothing else.
        r"^(?!(?:compare|who|what|when|where|which|why|how|is|are|does|did|tell|show|find|give|list|explain)\b)"
        r"(?P<title>(?-i:[A-Z])[\w'’-]+(?:\s+(?:(?-i:[A-Z])[\w'’-]+|a|an|the|of|and|in|on|to|for|with|without|from|by)){1,8}"
        r"\s+(?-i:[A-Z])[\w'’-]+)\s*$",
        r"^\s*(?:https?://\S+)\s*$",
    ),
    cleanup=words("called titled named entitled open file document"),
    variants=(VariantRule("title", "{title}", 1.0),),
    required=("title",),
    examples=(
        "What does the note called Gable mortar say about lime?",
        "[[Kirkhaven datum correction]]",
        "Merging Without a Middle",
        'the paper "Bounded tombstones"',
        "Seeding checklist.md",
    ),
)
