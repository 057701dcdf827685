"""The engine of the families: which one a question belongs to, and its parts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from citewell.search.query import (
    FamilyName,
    NormalizedQuestion,
    Variant,
    VariantKind,
    bare_topic,
    is_function_word,
    is_intent,
    overview_topic,
    strip_filler,
)
from citewell.text.canonical import folded_text
from citewell.text.documents import SourceType
from citewell.text.words import query_tokens

# What a family of questions is: how it is recognised, what it cleans away, searches for and requires. Data only.


@dataclass(frozen=True, slots=True)
class VariantRule:
    """One more way to ask the index: a template over the parts of the question, for each value they have."""

    kind: VariantKind
    template: str
    weight: float


@dataclass(frozen=True, slots=True)
class Family:
    """A family as data. The named groups of its patterns are the parts its rules speak of."""

    name: FamilyName
    title: str
    asks: str
    patterns: tuple[re.Pattern[str], ...]
    examples: tuple[str, ...]
    unless: tuple[re.Pattern[str], ...] = ()
    # Words that say how the answer should look: no search terms, and nothing that evidence must mention; but for
    # those that a pattern captures as `kept`: "which laptop did she buy" is answered by what says that she bought it.
    cleanup: frozenset[str] = frozenset()
    variants: tuple[VariantRule, ...] = ()
    # Parts of which every value must be found as a whole.
    required: tuple[str, ...] = ()
    # Parts whose words help to find rows and need not be there: what lies between two years names neither.
    optional: tuple[str, ...] = ()
    # Words that tell the kind of source meant; rows of that kind come first where all else is equal.
    sources: Mapping[str, tuple[SourceType, ...]] = field(default_factory=dict)


def patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    """Patterns of a family; they are written with free spacing and match in any case."""
    return tuple(re.compile(source, re.IGNORECASE | re.VERBOSE) for source in sources)


def words(text: str) -> frozenset[str]:
    """Words as tokens of a question are compared: folded."""
    return frozenset(folded_text(text).split())


def pointing_to(kinds: tuple[SourceType, ...], text: str) -> dict[str, tuple[SourceType, ...]]:
    """Words that all tell the same kinds of source."""
    return dict.fromkeys(words(text), kinds)


# Comparison: two or more things side by side. Each side is searched for on its own and each must be found.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


_END = r"(?:\s+(?:in\s+terms\s+of|regarding|when\s+it\s+comes\s+to|with\s+respect\s+to)\s+(?P<aspect>.+?))?[\s?.!]*$"

COMPARISON = Family(
    name="comparison",
    title="Comparison",
    asks="What sets two or more things apart, or which of them is more of something.",
    patterns=patterns(
        rf"^(?:please\s+)?compare\s+(?:the\s+)?(?:(?P<aspect1>[\w\s-]{{2,60}}?)\s+(?:of|between|for)\s+)?"
        rf"(?P<side1>.+?)\s+(?:and|with|to|against|vs\.?|versus)\s+(?P<side2>.+?){_END}",
        rf"\bdifferences?\s+(?:in\s+(?P<aspect1>[\w\s-]{{2,60}}?)\s+)?between\s+(?P<side1>.+?)\s+and\s+(?P<side2>.+?){_END}",
        rf"^(?P<side1>[^?]{{2,80}}?)\s+(?:vs\.?|versus)\s+(?P<side2>[^?]{{2,80}}?){_END}",
        rf"^how\s+(?:does|do|did|is|are|was|were)\s+(?P<side1>.+?)\s+(?:compare|differ(?:ent)?|stack\s+up)\s+"
        rf"(?:to|with|from|against)\s+(?P<side2>.+?){_END}",
        r"^(?:is|are|was|were|does|do|did)\s+(?P<side1>.{2,80}?)\s+(?P<aspect1>(?:more|less)\s+\w+|\w{2,}er|better|worse)"
        r"\s+than\s+(?P<side2>.{2,80}?)[\s?.!]*$",
        r"^(?:which|what|who)\s+(?:is|was|are|were|has|had)\s+(?P<aspect1>[\w\s-]{2,40}?)[,:]\s*(?P<side1>.{2,60}?)\s+or\s+"
        r"(?P<side2>.{2,60}?)[\s?.!]*$",
        r"^(?:which|what|who)\s+(?P<aspect1>[\w\s+#.-]{2,60}?)[,:]\s*(?!(?:if|when|and|for|in|to|with)\b)(?P<side1>[^,?]{2,40}?)\s+or\s+"
        r"(?P<side2>[^,?]{2,40}?)[\s?.!]*$",
        r"^(?P<side1>[^\s,?]+(?:\s[^\s,?]+)?)\s+or\s+(?P<side2>[^\s,?]+(?:\s[^\s,?]+)?)\s*\?$",
        r"\bunterschiede?\s+zwischen\s+(?P<side1>.+?)\s+und\s+(?P<side2>.+?)[\s?.!]*$",
        r"^vergleiche?\s+(?P<side1>.+?)\s+(?:und|mit)\s+(?P<side2>.+?)[\s?.!]*$",
        r"\bdifférences?\s+entre\s+(?P<side1>.+?)\s+et\s+(?P<side2>.+?)[\s?.!]*$",
        r"^compare[rz]?\s+(?P<side1>.+?)\s+(?:et|à|avec)\s+(?P<side2>.+?)[\s?.!]*$",
        r"\bdiferencias?\s+entre\s+(?P<side1>.+?)\s+[ye]\s+(?P<side2>.+?)[\s?.!]*$",
    ),
    cleanup=words(
        """compare compares compared comparing comparison difference differences differ differs different between versus vs
        better worse pros cons advantages disadvantages unterschied unterschiede zwischen vergleich vergleiche différence
        différences entre comparer terms diferencia diferencias stack"""
    ),
    variants=(VariantRule("side", "{side} {aspect}", 0.9), VariantRule("side", "{side}", 0.85)),
    required=("side",),
    examples=(
        "Compare the Corvid R80 and the Scoter P10",
        "difference between lime mortar and cement",
        "Driftlog vs Tern",
        "Which gauge drifts less, the Corvid R80 or the Scoter P10?",
        "Is the radar gauge more accurate than the pressure gauge?",
        "Unterschied zwischen Kalkmörtel und Zement?",
    ),
)


# Corrective follow-up: the last question again with something put right. What was not meant is left out.


CORRECTIVE = Family(
    name="corrective",
    title="Corrective follow-up",
    asks="The question before, put right: another thing, another year, not this one but that.",
    # How corrections are put, and what becomes of the question before, is in `search/plan.py`.
    patterns=(),
    cleanup=words(
        "meant mean instead actually sorry wrong one ones other rather meinte meine voulais dire quería decir"
    ),
    variants=(VariantRule("correction", "{correction}", 0.6),),
    examples=(
        "no, I meant the 2019 one",
        "not the ferry, the bus",
        "I meant Ewan Ross the slater, not the oceanographer",
        "sorry, the Scoter instead",
        "nein, ich meinte den Bus",
    ),
)


# Exact title or source: one document, named by its title, file, link or key. The title counts only as a phrase.


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


# Media: what was said in a recording or stands in a picture. The medium is where to look, not what to look for.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


SPOKEN = r"(?:talk|lecture|keynote|podcast|episode|interview|video|recording|webinar|voice\s+memo|clip|presentation)"
SEEN = r"(?:screenshot|photo(?:graph)?|scan|whiteboard|picture|image)"

MEDIA = Family(
    name="media",
    title="Media transcript or OCR",
    asks="What somebody said in a talk, video or recording, or what is written in a picture.",
    patterns=patterns(
        rf"\b(?:in|from|during|at|of)\s+(?:the\s+|that\s+|this\s+|my\s+|an?\s+|his\s+|her\s+|their\s+)?"
        rf"(?P<name>(?:[@\w.'’-]+\s+){{0,4}}?){SPOKEN}s?\b(?!\s+(?:to|with)\b)",
        rf"\b(?:in|from|on)\s+(?:the\s+|that\s+|this\s+|my\s+|an?\s+)?(?P<name>(?:[\w.'’-]+\s+){{0,3}}?){SEEN}s?\b",
        rf"\b(?:do|does|did|has|have)\s+(?:the|that|this|my|his|her|their)\s+(?P<name>(?:[@\w.'’-]+\s+){{0,3}}?)"
        rf"(?:{SPOKEN}|{SEEN})s?\s+(?:say|said|show|explain|mention|tell|claim|teach|cover|talk|recommend|suggest|advise)\b",
        rf"\b(?:which|what)\s+(?:{SPOKEN}|{SEEN})s?\b",
        r"\b(?:transcripts?|subtitles|captions|ocr)\b",
        r"\bat\s+(?:what|which)\s+(?:time|minute|point|timestamp)\b.*\b(?:say|says|said|mention|mentions|talk|speak)\b",
        r"\b(?:im|in\s+dem|aus\s+dem)\s+(?:vortrag|video|podcast|interview|screenshot|foto)\b",
        r"\b(?:dans|de)\s+(?:la|le|l['’])\s*(?:conférence|vidéo|podcast|entretien|capture|photo)\b",
        r"\b(?:en|de)\s+(?:la|el)\s+(?:charla|vídeo|video|podcast|entrevista|captura|foto)\b",
    ),
    cleanup=words(
        """talk talks lecture keynote podcast episode interview video videos recording recordings webinar clip transcript
        transcripts subtitles captions ocr screenshot screenshots photo photos picture pictures image images scan scans
        presentation timestamp minute speaker vortrag conférence vidéo charla vídeo"""
    ),
    variants=(VariantRule("topic", "{rest}", 0.9),),
    sources={
        **pointing_to(
            ("transcript", "youtube"),
            """talk talks lecture keynote podcast episode interview video videos recording recordings webinar clip
            transcript transcripts subtitles captions vortrag conférence vidéo charla vídeo presentation""",
        ),
        **pointing_to(
            ("image",),
            "screenshot screenshots photo photos picture pictures image images scan scans ocr whiteboard foto captura",
        ),
    },
    examples=(
        "In Ilse Brandvold's talk, what happens to the replica of a boat that sinks?",
        "What does the podcast say about tidal datums?",
        "Which video explains breather filters?",
        "What is written in the screenshot of the error?",
        "At what minute does she mention the clinic?",
    ),
)


# Overview: everything about an entity or a topic. The topic is searched for by itself; its brief goes along.


OVERVIEW = Family(
    name="overview",
    title="Entity or topic overview",
    asks="What is known about a thing, without asking for one fact.",
    # How such questions are put is in `search/query.py`, since topic briefs are inferred from the same.
    patterns=(),
    cleanup=words("overview summary summarise summarize brief briefing everything all know known über alles résumé"),
    variants=(VariantRule("topic", "{topic}", 0.9),),
    examples=(
        "What do I know about heat pumps?",
        "Tell me everything about Big Maggie",
        "Give me an overview of the Kirkhaven gauge",
        "Was weiß ich über Wärmepumpen?",
    ),
)


# Person, news or event: who somebody is, what they said, what happened. The name must be found as a whole.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


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


# Software project: a repository, a release, a version. Name and version belong together and are asked for as one.


PROJECT = Family(
    name="project",
    title="Software project",
    asks="A program, library or repository: its releases, bugs, licence, how it is installed.",
    patterns=patterns(
        r"\b(?P<name>[a-z][\w-]*)\s+(?P<version>v?\d+\.\d+\.\d+(?:[.-]\w+)*)\b",
        r"\b(?P<name>[a-z][\w-]*)\s+(?:version\s+|release\s+|v)(?P<version>\d+(?:\.\d+)*)\b",
        r"\brelease\s+date\s+of\s+(?P<name>[a-z][\w-]*)\s+(?P<version>\d+(?:\.\d+)+)\b",
        r"\b(?:starred|my\s+stars|stars\s+on)\b.*\b(?:repo|repos|repository|repositories|projects?|github|librar\w+)\b",
        # A question about open source or GitHub as such, or about "my repository", names no project.
        r"\b(?:repos?|codebase|changelog|release\s+notes|pull\s+requests?|bug\s+tracker|issue\s+tracker|source\s+code|"
        r"pip\s+install|npm\s+install|sdk)\b",
        r"(?<!my\s)(?<!a\s)(?<!your\s)\brepositor(?:y|ies)\b",
        r"\b(?:on|from|at|in)\s+(?:github|gitlab)\b|\b(?:github|gitlab)\s+(?:repos?\b|repositor|stars?\b|issues?\b|link\b|url\b|page\s+of)",
        r"\bopen[\s-]source\s+(?:librar(?:y|ies)|tools?|programs?|apps?|implementations?|clients?|servers?|engines?|software\s+for)\b",
        r"\b(?:licen[cs]e|dependenc(?:y|ies)|maintainers?|latest\s+release|latest\s+version)\s+(?:of|for|is|does)\s+"
        r"(?P<name>[A-Za-z][\w./-]*)",
    ),
    cleanup=words(
        """starred stars repo repos repository repositories github gitlab codebase project projects tracker"""
    ),
    variants=(VariantRule("phrase", "{name} {version}", 0.9), VariantRule("topic", "{rest}", 0.9)),
    sources=pointing_to(("github",), "starred stars repo repos repository repositories github"),
    examples=(
        "What did Tidewick 1.4.2 fix?",
        "Which of my starred repositories shows both values until a person picks?",
        "Where is the changelog of driftlog?",
        "licence of brandvold/merge-cards",
        "What is the release date of Tidewick 2.0?",
    ),
)


# Selection: which model, tool or product to take, and why. Words of praise are no search terms.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


_US = r"(?:i|we|you|one|they|people)"
_TAKE = r"(?:use|choose|pick|buy|get|take|try|select|prefer|recommend|install|order|go\s+(?:with|for)|settle\s+on)"
# Anyone who took it: "which laptop did the author buy", "what brand does Steph use".
_WHO_SELECTS = rf"(?:{_US}|(?:the|my|our|his|her|their)\s+\w+|(?-i:[A-Z])[\w.'’-]+(?:\s+(?-i:[A-Z])[\w.'’-]+)?)"
_TAKES = r"(?:use|choose|pick|buy|take|prefer|recommend|order|apply|wear|rely\s+on|go\s+(?:with|for)|settle\s+on)"
_FITS = r"(?:good|best|suitable|right|suited|recommended|appropriate|ideal|meant|fit)"

SELECTION = Family(
    name="selection",
    title="Model or tool selection",
    asks="Which of several things to take for a purpose or is in use, what else there is, or why one was taken.",
    patterns=patterns(
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:should|would|could|shall)\s+{_US}\s+{_TAKE}\b(?:\s+(?:for|to)\s+"
        r"(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:should|would|could|do|does|did|shall|can)\s+{_WHO_SELECTS}\s+(?:not\s+)?(?P<kept>{_TAKES})\b",
        r"^(?:which|what)\s+(?P<topic>.+?)\s+(?:can|could)(?:['’]t|not)?\s+.{1,20}?\bgo\s+wrong\s+with\b(?:\s+(?:for|to)\s+(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:is|are)\s+{_FITS}[\s?.!]*$",
        rf"^(?:which|what)\s+(?:\w+\s+)?(?:can|could|should|do|would)\s+{_US}\s+\w+\s+instead\s+of\s+(?P<topic>.+?)[\s?.!]*$",
        r"\bbest\s+(?P<topic>[\w\s.'’-]{2,60}?)\s+(?:for|to)\s+(?P<purpose>.+?)[\s?.!]*$",
        r"^(?:what(?:['’]s|\s+is|\s+are|\s+was|\s+were)|which\s+(?:is|are|was|were))\s+the\s+best\s+(?P<topic>.+?)[\s?.!]*$",
        r"\balternatives?\s+(?:to|for)\s+(?P<topic>.+?)[\s?.!]*$",
        # Without a question word: "K8s Helm alternatives", "best ocr engine", "Hermes agent model stack".
        r"^(?P<topic>[^?]{2,80}?)\s+alternatives?[\s?.!]*$",
        r"^best\s+(?P<topic>[^?]{2,80}?)[\s?.!]*$",
        r"^(?P<topic>(?:[^\s?]+\s+){0,6}?(?:model|tech|technology|tool|tooling|software|app|editor|desk|my|our)\s+(?:stack|setup|toolchain))[\s?.!]*$",
        rf"^why\s+(?:did|do|have)\s+{_US}\s+(?:{_TAKE}|chosen|picked|selected|settled\s+on|chose)\s+(?P<topic>.+?)"
        r"(?:\s+for\s+(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:what|which)\s+(?P<topic>.+?)\s+(?:is|are|was|were|works?)\s+{_FITS}\s+for\s+"
        r"(?P<purpose>.+?)[\s?.!]*$",
        rf"^should\s+{_US}\s+{_TAKE}\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:recc?omm?end(?:ed|ation|ations)?)\s+(?:an?\s+|the\s+|for\s+|any\s+)?(?P<topic>.+?)[\s?.!]*$",
        r"^(?P<topic>[^?]{2,80}?)\s+(?:recc?omm?endations?)[\s?.!]*$",
        r"^welche[nrs]?\s+(?P<topic>.+?)\s+(?:soll|sollte|sollten|sollen)\s+(?:ich|wir|man)\b",
        r"^quel(?:le)?s?\s+(?P<topic>.+?)\s+(?:choisir|utiliser|prendre|acheter)\b",
        r"^¿?\s*qué\s+(?P<topic>.+?)\s+(?:elegir|usar|comprar|debería)\b",
        r"^welche[nrs]?\s+(?P<topic>.+?)\s+(?:eignet|empfiehlt|passt)\b",
    ),
    # What a talk recommends stands in the talk.
    unless=patterns(
        rf"\b(?:in|from|during|at|do|does|did)\s+(?:the|that|this|my|his|her|their|an?)\s+(?:[@\w.'’-]+\s+){{0,3}}?(?:{SPOKEN}|{SEEN})\b",
        r"\b(?:precautions?|steps?|actions?|measures?|care)\s+(?:should|would|could|do|did|shall|can)\b",
    ),
    cleanup=words(
        """best better good recommend recommended recommendation recommendations choose chose chosen choosing pick picked
        picking select selected alternative alternatives suitable suited should would buy prefer welche welcher welches
        quel quelle choisir utiliser qué elegir usar"""
    ),
    variants=(VariantRule("topic", "{topic} {purpose}", 0.9), VariantRule("topic", "{topic}", 0.75)),
    examples=(
        "Which library should we use for the shared logbook?",
        "What is the best battery for islanding?",
        "Why did we pick Driftlog for the shared logbook?",
        "alternatives to Cellhaven",
        "Which lime is suitable for the north gable?",
        "which model should I use for summarising transcripts",
        "K8s Helm alternatives",
        "Hermes agent model stack",
    ),
)


# Timeline: how something went over time. The subject is searched for by itself and with each year that is named.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


TIMELINE = Family(
    name="timeline",
    title="Timeline or history",
    asks="What happened in which order, or how something changed over time.",
    patterns=patterns(
        r"\b(?:timeline|chronology|history|evolution|story\s+so\s+far)\s+(?:of|for|behind)\s+(?P<topic>.+?)[\s?.!]*$",
        r"^(?P<topic>[^?]{2,80}?)\s+(?:timeline|chronology|history)[\s?.!]*$",
        r"^how\s+(?:has|have|did|does|do)\s+(?P<topic>.+?)\s+(?:change|evolve|develop|grow|go)[ds]?\s+"
        r"(?:over\s+(?:time|the\s+years|the\s+last)|since|from|between|through)\b",
        r"^what\s+(?:has\s+|have\s+)?(?:happened|changed)\s+(?:(?:to|with|at|in|on|about)\s+(?P<topic>.+?)\s+)?"
        r"(?:between\s+\D{0,20}\d{4}\s+and|since|from\s+\D{0,20}\d{4}\s+(?:to|until|through)|over\s+the\s+years)",
        r"^(?P<topic>.{2,100}?)\s+(?:over\s+time|over\s+the\s+years|year\s+by\s+year|through\s+the\s+years)[\s?.!]*$",
        r"\b(?:sequence|order)\s+of\s+events\s+(?:of|in|at|around|during|leading\s+(?:up\s+)?to)\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:geschichte|chronik|zeitleiste)\s+(?:von|der|des|vom)\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:histoire|chronologie)\s+(?:de\s+la|de\s+l['’]|de|du|des)\s*(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:historia|cronología)\s+(?:de\s+la|del|de\s+los|de)\s+(?P<topic>.+?)[\s?.!]*$",
    ),
    unless=patterns(r"\b(?:browser|browsing|shell|command|git|search|chat|medical|credit)\s+history\b"),
    cleanup=words(
        """timeline chronology history evolution story sequence order events event happened happen changed change changes
        evolve evolved develop developed time years year through geschichte chronik zeitleiste histoire chronologie
        historia cronología"""
    ),
    optional=("year",),
    variants=(VariantRule("dated", "{topic} {year}", 0.85), VariantRule("topic", "{topic}", 0.85)),
    examples=(
        "timeline of the Orrin Head Light",
        "How has the member tariff changed over the years?",
        "What happened to the turbine between 2023 and 2025?",
        "history of the kelp farm",
        "Geschichte des Leuchtturms",
    ),
)


# The families in the order in which they are tried. The first that recognises a question has it.


FAMILIES: tuple[Family, ...] = (
    CORRECTIVE,
    EXACT_TITLE,
    COMPARISON,
    TIMELINE,
    SELECTION,
    MEDIA,
    OVERVIEW,
    PROJECT,
    PERSON,
)

# What belongs to none of them: no cleanup, no rules of its own.
GENERAL = Family(
    name="general",
    title="General",
    asks="Everything else.",
    patterns=(),
    examples=("How deep below the surface do the kelp longlines sit?",),
)


# Longer questions are texts: patterns that look for a whole sentence say nothing about them.
MAX_CHARS = 400
_MAX_VALUES = 6
_YEAR = re.compile(r"(?<!\w)(?:1[5-9]|20|21)\d\d(?!\w)")
_SEVERAL = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|vs\.?|versus)\s+", re.IGNORECASE)
_BARE = re.compile(
    r"^(?:the|an?|my|our|his|her|their|der|die|das|den|dem|le|la|les|el|los|las)\s+|^l['’]", re.IGNORECASE
)
# The end of a topic that only says when.
_RANGE = re.compile(
    r"\s+(?:from|since|between|in|until|before|after|during)\s+\D{0,20}(?:1[5-9]|20|21)\d\d\b.*$", re.IGNORECASE
)
_FIELD = re.compile(r"\{(\w+)\}")

Parts = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class FamilyMatch:
    """A question's family with the parts its rules work on."""

    family: Family
    parts: Parts

    def is_cleaned_away(self, word: str) -> bool:
        return word in self.family.cleanup and word not in self.parts.get("kept", ())

    def is_optional(self, word: str) -> bool:
        return any(word in self.parts.get(part, ()) for part in self.family.optional)

    def required(self) -> Iterator[tuple[str, str]]:
        """Parts that must be found as a whole: which part, and each of its values."""
        for part in self.family.required:
            for value in self.parts.get(part, ()):
                yield part, value

    def variants(self) -> Iterator[Variant]:
        for rule in self.family.variants:
            names = _FIELD.findall(rule.template)
            # A part that a question lacks leaves a gap, but the first one is what the rule is about.
            values = [self.parts.get(name, ("",)) for name in names]
            if not names or not self.parts.get(names[0]):
                continue
            for chosen in list(product(*values))[:_MAX_VALUES]:
                query = rule.template.format(**dict(zip(names, chosen, strict=True)))
                yield Variant(rule.kind, " ".join(query.split()), rule.weight)

    def source_types(self, question: NormalizedQuestion) -> tuple[SourceType, ...]:
        """The kinds of source the question points to."""
        found = [kind for token in question.tokens for kind in self.family.sources.get(token.folded, ())]
        return tuple(dict.fromkeys(found))


def recognise(question: NormalizedQuestion, *, is_correction: bool = False, leaves_out: bool = False) -> FamilyMatch:
    """The first family that has the question; a topic and nothing else is an overview, anything more is general."""
    text = " ".join(question.question.split())
    if is_correction:
        return FamilyMatch(_family("corrective"), _with_common({}, question))
    if len(text) > MAX_CHARS:
        return FamilyMatch(GENERAL, {})
    for family in FAMILIES:
        parts = _overview(text) if family.name == "overview" else _matched(family, text)
        if parts is not None:
            return _completed(family, parts, question)
    if not leaves_out and (topic := bare_topic(question)):
        return _completed(_family("overview"), {"topic": (topic,)}, question)
    return FamilyMatch(GENERAL, {})


def _family(name: FamilyName) -> Family:
    return next(family for family in FAMILIES if family.name == name)


def _overview(text: str) -> Parts | None:
    topic = overview_topic(text)
    return {"topic": (topic,)} if topic else None


def _matched(family: Family, text: str) -> Parts | None:
    if any(pattern.search(text) for pattern in family.unless):
        return None
    # A greeting before the question is no part of it; a title may well begin with such a word.
    for candidate in dict.fromkeys((text, strip_filler(text))):
        for pattern in family.patterns:
            if match := pattern.search(candidate):
                return _parts(match)
    return None


def _parts(match: re.Match[str]) -> Parts:
    """The named groups of a match; numbered ones are values of the same part."""
    found: dict[str, list[str]] = {}
    for name, value in match.groupdict().items():
        if value and value.strip():
            found.setdefault(name.rstrip("0123456789"), []).append(value.strip(" ,;:"))
    return {name: tuple(values) for name, values in found.items()}


def _completed(family: Family, parts: Parts, question: NormalizedQuestion) -> FamilyMatch:
    if "side" in parts:
        sides = _sides(parts["side"])
        if len(sides) < 2:
            return FamilyMatch(GENERAL, {})
        parts = {**parts, "side": sides}
    if "topic" in parts:
        parts = {**parts, "topic": tuple(_RANGE.sub("", topic).strip() or topic for topic in parts["topic"])}
    if "kept" in parts:
        parts = {**parts, "kept": tuple(token.folded for value in parts["kept"] for token in query_tokens(value))}
    if "name" in parts:
        parts = {**parts, "name": tuple(filter(None, (_name(value) for value in parts["name"])))}
    return FamilyMatch(family, _with_common(parts, question, family))


def _sides(found: tuple[str, ...]) -> tuple[str, ...]:
    """Each side by itself; a bare year or number stands for the other side with it in place: 2025 output, 2024."""
    sides = [_BARE.sub("", part).strip() for side in found for part in _SEVERAL.split(side) if part.strip()]
    sides = [side for side in sides if any(not is_function_word(token) for token in query_tokens(side))]
    if len(sides) == 2 and _YEAR.fullmatch(sides[1]) and (year := _YEAR.search(sides[0])):
        sides[1] = sides[0][: year.start()] + sides[1] + sides[0][year.end() :]
    return tuple(dict.fromkeys(sides))[:_MAX_VALUES]


def _name(value: str) -> str:
    """A name without its article and possessive; nothing where only such words stand there."""
    bare = re.sub(r"['’]s$", "", _BARE.sub("", value.strip()))
    tokens = query_tokens(bare)
    return bare if any(not is_function_word(token) and not is_intent(token) for token in tokens) else ""


def _with_common(parts: Parts, question: NormalizedQuestion, family: Family | None = None) -> Parts:
    """Parts every rule may use: the years of the question, and its words without those that are cleaned away."""
    years = tuple(dict.fromkeys(_YEAR.findall(question.text)))
    cleanup = family.cleanup if family else frozenset()
    rest = " ".join(token.text for token in question.content if token.folded not in cleanup)
    return {**parts, **({"year": years} if years else {}), **({"rest": (rest,)} if rest else {})}
