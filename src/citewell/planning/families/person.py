"""Person, news or event: who somebody is, what they said, what happened. The name must be found as a whole."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

# Headlines, which have no question word: somebody, and what befell them or what they did.
_SOMEBODY = r"""(?:m[ae]n|wom[ae]n|father|mother|dad|mom|mum|parents?|sons?|daughters?|boys?|girls?|teen(?:ager)?s?|child(?:ren)?|kids?|
    couple|famil(?:y|ies)|police|officers?|driver|pilot|president|minister|mayor|senator|governor|judge|ceo|founder|actor|actress|
    singer|player|coach|teacher|students?|doctor|nurse|priest|pope|king|queen|prince(?:ss)?|suspect|gunman|victims?|workers?|soldiers?|
    passengers?|residents|neighbou?rs?|fishermen|islanders)"""
_BEFELL = r"""(?:kill(?:ed|s)|shot|shoots|stab(?:bed|s)|murder(?:ed|s)|arrest(?:ed|s)|charged|died|dies|dead|resign(?:ed|s)|fired|sacked|sued|sues|
    elected|re-elected|indicted|sentenced|convicted|acquitted|kidnapped|rescued|injured|drown(?:ed|s)|missing|jailed|robbed|attacked|
    honou?red|appointed|married|divorced|retire[ds]|wins|won|loses|lost|steps\s+down|stepped\s+down)"""
_DID = r"""(?:announce[ds]|acquire[ds]|buys|bought|sue[ds]|fire[ds]|sack(?:ed|s)|resign(?:ed|s)|elect(?:ed|s)|indicted|sentenced|convicted|arrested|
    died|dies|lays\s+off|laid\s+off|launche[ds]|steps\s+down|stepped\s+down|banned|bans)"""
_NO_QUESTION = (
    r"(?!(?:who|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|should|would|will|has|have|tell|show|list|find|"
    r"explain|compare|the\s+(?:note|page|file)|if)\b)"
)
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
        rf"^what\s+(?:did|do|have)\s+(?:i|we|they)\s+(?:discuss(?:ed)?|talk(?:ed)?\s+about|agree[d]?(?:\s+on)?|decide[d]?)\s+"
        rf"(?:with|at|on|in)\s+(?:(?P<name>{_NAME})|the\s+(?:meeting|call|agm))",
        rf"^{_NO_QUESTION}(?P<topic>[^?]{{0,80}}?\b{_SOMEBODY}\b[^?]{{0,40}}?\b{_BEFELL}\b[^?]*)$",
        rf"^{_NO_QUESTION}(?P<topic>(?-i:[A-Z])[^?]{{0,60}}?\s{_DID}\s[^?]{{0,20}}?(?-i:[A-Z])[^?]*)$",
        r"^(?P<topic>(?-i:[A-Z])[^?]{2,80}?\s+(?:earthquake|elections?|shooting|lawsuit|merger|resignation|wildfires?|protests|funeral|wedding|"
        r"verdict))(?:\s+(?:in\s+)?\d{4})?[\s.!]*$",
        r"誰|だれ",
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
        "Calgary father killed two kids",
        "Wer ist Solveig Haraldsen?",
    ),
)
