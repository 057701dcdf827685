"""Person, news or event: who somebody is, what they said, what happened. The name must be found as a whole."""

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

_NAME = r"(?:@[\w.-]+|(?-i:[A-Z])[\w.'’-]*(?:\s+(?-i:[A-Z])[\w.'’-]*){0,3})"

PERSON = Family(
    name="person",
    title="Person, news or event",
    asks="Who somebody is or who did something, what they said, what is new about something or happened at it.",
    patterns=patterns(
        r"^who(?:['’]s|\s+is|\s+was|\s+are|\s+were)\s+(?P<name>@?[\w.'’-]+(?:\s+[\w.'’-]+){0,3})[\s?.!]*$",
        r"^who(?:m|se)?\b",
        rf"^what\s+(?:did|does|has|have)\s+(?P<name>{_NAME})\s+(?:say|said|write|wrote|written|think|announce|announced|tell|"
        r"report|argue|claim|claimed|suggest|suggested|propose|proposed|promise|promised)\b",
        r"\b(?:news|updates?|headlines?)\s+(?:about|on|from|of|regarding)\s+(?P<topic>.+?)[\s?.!]*$",
        r"^what\s+happened\s+(?:at|in|during|on|to|with|when)\s+(?P<topic>.+?)[\s?.!]*$",
        r"^(?:wer\s+(?:ist|war)|qui\s+(?:est|était)|¿?\s*quién\s+(?:es|fue|era))\s+(?P<name>@?[\w.'’-]+(?:\s+[\w.'’-]+){0,3})[\s?.!]*$",
        r"^(?:wer|qui|¿?\s*quién)\b",
    ),
    cleanup=words("news update updates headline headlines happened latest recent wer qui quién handle"),
    variants=(VariantRule("phrase", "{name}", 0.8), VariantRule("topic", "{topic}", 0.8)),
    required=("name",),
    examples=(
        "Who is rossbench?",
        "What did Fergus Inkster say about the cable?",
        "latest news about the interconnector",
        "What happened at the AGM?",
        "Wer ist Solveig Haraldsen?",
    ),
)
