"""Questions as values: filters, terms, concepts, variants and the plan that holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from citewell.errors import BadInput
from citewell.search.spelling import SHORTEST
from citewell.store.port import Filters, LexicalQuery, Phrase, Term
from citewell.text.canonical import folded_text
from citewell.text.documents import KEY_PREFIXES, SourceType
from citewell.text.languages import is_foreign_function_word, is_stop_word, question_language
from citewell.text.words import QueryToken, compound_forms, query_tokens, stem

# Who asks, and what kind of run answers.
Surface = Literal["cli", "web_chat", "web_research_api", "mcp", "eval", "python", "rest", "note"]
RunProfile = Literal["local", "chat", "deep", "report", "note"]


ConceptRole = Literal["anchor", "content", "intent", "frame"]
ProtectedKind = Literal["handle", "tag", "source_key", "phrase"]


@dataclass(frozen=True, slots=True)
class Concept:
    """Something an answer has to be about. A protected one is met exactly or as a phrase, never by an expansion."""

    name: str
    role: ConceptRole
    required: bool
    terms: tuple[str, ...]
    protected: ProtectedKind | None = None


# A side of a comparison, a topic with a year, a topic alone, what a correction puts in place of what was asked before;
# words nothing has as the nearest that something has, other names that the corpus gives, and what a model adds.
VariantKind = Literal[
    "original",
    "content",
    "anchors",
    "phrase",
    "title",
    "side",
    "dated",
    "topic",
    "correction",
    "follow_up",
    "spelling",
    "alias",
    "planner",
]

FamilyName = Literal[
    "general",
    "overview",
    "person",
    "selection",
    "project",
    "comparison",
    "timeline",
    "media",
    "corrective",
    "exact_title",
]


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of putting the question to the index."""

    kind: VariantKind
    query: str
    weight: float


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a pack may hold."""

    limit: int
    max_chars_per_doc: int
    include_related: bool
    related_limit: int


PlannerStatus = Literal["off", "used", "skipped_by_policy", "planner_failed_deterministic_used"]


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Everything decided about a question before anything is retrieved."""

    text_query: str
    terms: tuple[str, ...]
    tag_queries: tuple[str, ...]
    query_variants: tuple[Variant, ...]
    concepts: tuple[Concept, ...]
    filters: Filters
    limits: Limits
    family: FamilyName = "general"
    source_keys: tuple[str, ...] = ()
    # What the question says it is not about. Rows about a protected one are left out, rows about another come later.
    excluded: tuple[Concept, ...] = ()
    # Kinds of source the question points to: they come first where all else is equal.
    preferred_source_types: tuple[SourceType, ...] = ()
    include_topic_brief: bool = False
    topic: str | None = None
    planner: str = "deterministic"
    planner_model: str | None = None
    planner_error: str | None = None
    planner_status: PlannerStatus = "off"
    # What is searched for where that is more than the question says: a follow-up with what it points back to.
    retrieval_question: str = ""

    @property
    def required(self) -> tuple[Concept, ...]:
        return tuple(concept for concept in self.concepts if concept.required)

    @property
    def named_keys(self) -> tuple[str, ...]:
        """The documents that the question itself names, by key or path."""
        named = (concept.terms[0] for concept in self.concepts if concept.protected == "source_key")
        return tuple(key.partition("@")[0] for key in named)

    @property
    def only_names(self) -> bool:
        """Whether the question says nothing but which documents it is about: by key, by path, by tag."""
        told = [concept for concept in self.concepts if concept.role in ("anchor", "content")]
        return bool(told) and all(concept.protected in ("source_key", "tag") for concept in told)


# Words with a part to play in questions: what frames them, what they ask for. Data only.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


# What people wrap around a question, in front of it and behind it: as text, since most questions are without, and do
# not wait until it is compiled. A question with filler has one of the words below.
STARTING_WORDS = frozenset(
    """hi hey hello ok okay so well please pls um uh now also and can could would will tell show give remind what do did
    have find search look i any""".split()
)
ENDING_WORDS = "note vault corpus document library saved bookmarks please thank possible".split()
FILLER_STARTS = r"""(?ix)^(?:
      (?:hi|hey|hello|ok|okay|so|well|please|pls|um|uh|now|also|and)\b[\s,!.]*
    | (?:can|could|would|will)\s+you\s+(?:please\s+)?(?:tell|show|give|find|explain|remind|help|list|summari[sz]e)\b\s*(?:me|us)?\s*(?:(?:about|of|on)\s+)?
    | (?:tell|show|give|remind)\s+(?:me|us)\s+(?:again\s+)?(?:(?:everything|anything|more|something|all)\s+)?(?:(?:you|we|i)\s+(?:know|have)\s+)?(?:about|of|on|regarding)?\s*
    | what\s+(?:do|did|have|has)\s+(?:i|we|you|my\s+notes)\s+(?:ever\s+)?(?:know|say|write|written|save|saved|note|noted|read|have|think|collect|collected)(?:\s+down)?\s+(?:about|on|regarding|of)\b\s*
    | (?:do|did|have)\s+i\s+(?:have|save|saved|write|written|note|noted)\s+(?:anything|something|any\s+notes?|notes?|any)\s+(?:about|on|of)?\s*
    | (?:find|search|look)\s+(?:for\s+|up\s+|in\s+)?(?:(?:all|any)\s+)?(?:my\s+|the\s+)?(?:notes?|documents?|pages?|sources?)\s+(?:about|on|for|of|that\s+mention)\s*
    | (?:i(?:'d|\s+would)\s+like\s+to\s+know|i\s+want\s+to\s+know|i\s+wonder|i\s+am\s+wondering|i'm\s+wondering|do\s+you\s+know|any\s+idea)\b\s*(?:if\s+|whether\s+)?
    )"""
FILLER_ENDS = r"""(?ix)[\s,]*\b(?:
      (?:in|from|according\s+to|across|within)\s+(?:all\s+)?(?:my|the|our)\s+(?:notes?|vault|corpus|documents?|library|saved\s+\w+|bookmarks)
    | please | thanks | thank\s+you | if\s+possible
    )[\s.!?]*$"""

# What a question asks for, rather than what it is about.
INTENT_WORDS = frozenset(
    folded_text(
        """who whom whose when where why which what how many much often long far old compare comparison versus vs difference
    differences different list name names named latest newest recent recently current currently best better explain
    summary summarize summarise overview timeline history define definition mean means meaning example examples pros
    cons reason reasons cause causes tell count number total
    что кто когда где почему зачем какой какая какое какие сколько як хто коли де чому
    ما ماذا متى أين كيف كم لماذا هل هو هي من מה מי מתי איפה היכן למה איך כמה האם
    τι ποιος πότε πού γιατί πώς πόσο"""
    ).split()
)

# Words that only carry the sentence.
FRAME_WORDS = frozenset(
    """note notes saved corpus vault document documents know known say says said according mention mentions mentioned
    anything something everything thing things get gets got make makes made take takes took taken use uses used using
    does done did go goes went gone come comes came give gives gave given happen happens happened happening
    tagged please thanks exactly actually really ever still yet kind sort lot way""".split()
)


# The one normaliser: a question becomes clean search text, terms, tags and protected anchors. No model, no index.
#
# Filler is stripped, source keys and paths are taken out of the text; quoted phrases, handles, tags, dotted tokens and
# single-letter names are kept whole. Every surface and every lane sees a question through this.


MAX_QUESTION_CHARS = 8_000
_MAX_TAG_QUERIES = 24

QUOTED = re.compile(r'"([^"\n]{1,300})"|“([^”\n]{1,300})”|„([^“”\n]{1,300})[“”]|«([^»\n]{1,300})»|「([^」\n]{1,300})」')
SOURCE_KEY = re.compile(
    rf"(?<![\w/])(?:{'|'.join(sorted(set(KEY_PREFIXES.values())))}):[\w./~+-]*\w(?:@[0-9a-f]{{64}})?"
)
# A path to a file as people write one: folders, and an ending that notes and documents have.
_PATH = re.compile(
    r"(?<![\w/:.@~-])(?:[^\s/\"'“”<>|?*:]+/)+[^\s/\"'“”<>|?*:]+"
    r"\.(?:md|markdown|mdx|txt|org|rst|pdf|epub|html?|docx|pptx|xlsx|csv|ipynb|canvas)\b",
    re.IGNORECASE,
)

_ABBREVIATION = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_SPOKEN_ABBREVIATIONS = frozenset({"e.g", "i.e", "z.b", "d.h", "u.a", "p.ex", "a.k.a"})
# A line of so many words without a small letter is shouted: its capitals mark no names.
_SHOUTED_WORDS = 4


@dataclass(frozen=True, slots=True)
class NormalizedQuestion:
    """A question as every later step sees it."""

    question: str
    text: str
    tokens: tuple[QueryToken, ...]
    phrases: tuple[str, ...]
    handles: tuple[str, ...]
    tags: tuple[str, ...]
    source_keys: tuple[str, ...]

    @property
    def content(self) -> tuple[QueryToken, ...]:
        """Tokens that say what the question is about; all of them where that would leave none."""
        meant = tuple(token for token in self.tokens if not is_frame(token) and not is_intent(token))
        return meant or tuple(token for token in self.tokens if not is_function_word(token)) or self.tokens


def check_question(question: str) -> str:
    """The question itself, or a clear refusal of an empty or enormous one."""
    if not question.strip():
        raise BadInput("The question is empty.", fix='Ask something, for example: citewell search "heat pump noise"')
    if len(question) > MAX_QUESTION_CHARS:
        raise BadInput(
            f"The question has {len(question):,} characters; at most {MAX_QUESTION_CHARS:,} are taken.",
            fix="Put the text in a file, add it with 'citewell add FILE', and ask about it.",
        )
    return question


def normalize(question: str) -> NormalizedQuestion:
    """A question normalised. The same question always gives the same result."""
    source_keys = tuple(dict.fromkeys((*SOURCE_KEY.findall(question), *_PATH.findall(question))))
    without_keys = _PATH.sub(" ", SOURCE_KEY.sub(" ", question))
    phrases = tuple(dict.fromkeys(" ".join(filter(None, groups)).strip() for groups in QUOTED.findall(without_keys)))
    text = strip_filler(_lowered_if_shouted(" ".join(without_keys.split())))
    tokens = _without_foreign_frame(tuple(token for token in query_tokens(text) if not _is_noise(token)), text)
    return NormalizedQuestion(
        question=question,
        text=text,
        tokens=tokens,
        phrases=tuple(phrase for phrase in phrases if phrase),
        handles=tuple(dict.fromkeys(token.folded for token in tokens if token.folded.startswith("@"))),
        tags=tuple(dict.fromkeys(token.folded[1:] for token in tokens if _is_tag(token))),
        source_keys=source_keys,
    )


def _without_foreign_frame(tokens: tuple[QueryToken, ...], text: str) -> tuple[QueryToken, ...]:
    """Without the function words of the question's language, where that is not English; all where nothing is left."""
    language = question_language(text)
    return tuple(token for token in tokens if not is_foreign_function_word(token.folded, language)) or tokens


def _lowered_if_shouted(text: str) -> str:
    words = [word for word in text.split() if any(character.isalpha() for character in word)]
    return text.lower() if len(words) >= _SHOUTED_WORDS and text == text.upper() else text


def strip_filler(text: str) -> str:
    """The question without the words people wrap around it; the whole question where nothing else is left."""
    stripped = text
    for _ in range(4):
        before = stripped
        stripped = without_filler_behind(without_filler_before(stripped)).strip(" ,;:")
        if stripped == before:
            break
    return stripped if query_tokens(stripped) else text


def without_filler_before(text: str) -> str:
    """A question without what people begin with: "can you tell me", "hey"."""
    word = _FIRST_WORD.match(text)
    return re.sub(FILLER_STARTS, "", text, count=1) if word and word[0].lower() in STARTING_WORDS else text


def without_filler_behind(text: str) -> str:
    """A question without what people add to its end: "in my notes", "please"."""
    lowered = text.lower()
    return re.sub(FILLER_ENDS, "", text, count=1) if any(word in lowered for word in ENDING_WORDS) else text


def is_exact(token: QueryToken) -> bool:
    """Whether a compound is a name of its own: `1.0.21`, `node.js`, `@ada`. Hyphenated words are just their words;
    counting them whole as well costs up to .02 nDCG@10 on technical collections. Nor is a decimal a name, or `U.S.`."""
    if not token.is_compound or is_abbreviation(token) or is_decimal(token):
        return False
    hyphenated = "-" in token.folded and token.folded[0] not in "@#"
    return not hyphenated or any(character.isdigit() for character in token.folded)


def is_abbreviation(token: QueryToken) -> bool:
    """Single letters with full stops between them: `e.g.`, `i.e.`, `U.S.`, `a.m.`."""
    return bool(_ABBREVIATION.fullmatch(token.folded))


def is_decimal(token: QueryToken) -> bool:
    """A plain number with a fraction: `0.4`, `3.14`; `1.0.21` and `v2.0` are names."""
    return bool(_DECIMAL.fullmatch(token.folded))


def is_function_word(token: QueryToken) -> bool:
    """Stop words carry no meaning, unless they are written as a name: `Vitamin C`, `Plan B`, `IT`."""
    if token.is_compound or token.is_dense:
        return token.folded in _SPOKEN_ABBREVIATIONS
    if len(token.text) == 1 and token.text.isalpha():
        return not (token.text.isupper() and token.text not in "IA")
    return is_stop_word(token.folded) and not (token.text.isupper() and len(token.text) > 1)


def is_intent(token: QueryToken) -> bool:
    return token.folded in INTENT_WORDS


def is_frame(token: QueryToken) -> bool:
    return token.folded in FRAME_WORDS or is_function_word(token)


def _is_noise(token: QueryToken) -> bool:
    return not any(character.isalnum() for character in token.folded)


def _is_tag(token: QueryToken) -> bool:
    return token.folded.startswith("#") and len(token.folded) > 1


def tag_queries(normalized: NormalizedQuestion) -> tuple[str, ...]:
    """Tags the question may mean: those it names, its words, and neighbours joined by a hyphen or not at all."""
    words = [folded_text(token.text).lstrip("#@") for token in normalized.content if not token.is_dense]
    dense = [token.folded for token in normalized.content if token.is_dense]
    joined: list[str] = []
    for left, right in pairwise(words):
        joined += [f"{left}-{right}", f"{left}{right}", f"{left}_{right}", f"{left}/{right}"]
    return tuple(dict.fromkeys((*normalized.tags, *words, *dense, *joined)))[:_MAX_TAG_QUERIES]


# A line of search text as a lexical query: each word in every language of the corpus, compounds and phrases beside.


MAX_TERMS = 64


def lexical_query(text: str, languages: Sequence[str], phrases: Iterable[str] = ()) -> LexicalQuery:
    """The query for a text. Words may repeat; stop words count only where there is nothing else."""
    tokens = query_tokens(text)
    meant = [token for token in tokens if not is_function_word(token)] or tokens
    terms = [term for token in meant for term in _terms(token, languages)][:MAX_TERMS]
    found = [phrase_of(phrase, languages) for phrase in phrases]
    found += [_phrase(token.text, token.parts, languages) for token in meant if is_exact(token)]
    return LexicalQuery(tuple(terms), tuple(phrase for phrase in found[:MAX_TERMS] if phrase.forms))


def phrase_of(text: str, languages: Sequence[str]) -> Phrase:
    """Words next to each other, in every language of the corpus."""
    parts = tuple(part for token in query_tokens(text) for part in token.parts)
    return _phrase(text, parts, languages)


def forms_of(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """A folded word in the stems of each language of the corpus, and of texts too short to tell."""
    return tuple(dict.fromkeys(stem(word, language) for language in (*languages, None)))


def _terms(token: QueryToken, languages: Sequence[str]) -> list[Term]:
    if token.is_dense:
        return [Term(pair, (pair,)) for pair in token.parts]
    if not token.is_compound:
        return [Term(token.folded, forms_of(token.folded, languages))]
    if is_abbreviation(token) or is_decimal(token):
        # Its single letters and digits say nothing.
        return [Term(token.folded, compound_forms(token.folded))]
    parts = [Term(part, forms_of(part, languages)) for part in token.parts]
    return [Term(token.folded, compound_forms(token.folded)), *parts] if is_exact(token) else parts


def _phrase(text: str, parts: Sequence[str], languages: Sequence[str]) -> Phrase:
    spoken = (*languages, None)
    forms = dict.fromkeys(" ".join(stem(part, language) for part in parts) for language in spoken) if parts else {}
    return Phrase(text, tuple(forms))


# Which words of a question may be misspelled, and the question with another word put for one. Pure.
#
# Handles, tags, keys, versions, numbers, anything in quotes, short words and scripts without spaces are taken as they
# stand: of those, what is written is what is meant.


def doubtful_words(text: str, phrases: Iterable[str]) -> tuple[str, ...]:
    """The folded words that may be read as another where nothing has them."""
    quoted = {token.folded for phrase in phrases for token in query_tokens(phrase)}
    return tuple(
        dict.fromkeys(token.folded for token in query_tokens(text) if _is_plain(token) and token.folded not in quoted)
    )


def put_right(text: str, spelled: Mapping[str, str]) -> str:
    """The text with each of these folded words exchanged for another."""
    parts: list[str] = []
    at = 0
    for token in query_tokens(text):
        if token.folded in spelled and not token.is_compound:
            parts += [text[at : token.start], spelled[token.folded]]
            at = token.end
    return "".join((*parts, text[at:]))


def _is_plain(token: QueryToken) -> bool:
    is_word = not token.is_compound and not token.is_dense and token.folded.isalpha()
    return is_word and len(token.folded) >= SHORTEST and not is_function_word(token) and not is_intent(token)


# Questions that want an overview of a topic ("what do I know about X"), and the topic they name. Pure.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


_MAX_WORDS = 8
_MAX_CHARS = 200
_OVERVIEW = re.compile(
    r"""^(?:(?:hi|hey|hello|ok|okay|so|please|pls)\b[\s,!.]*)?
    (?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?
    (?:
      what\s+(?:all\s+)?(?:do|did|have|has)\s+(?:i|we|you|my\s+notes)\s+(?:already\s+)?(?:know|have|say|write|written|save|saved|note|noted|collect|collected|got)(?:\s+down)?\s+(?:about|on|regarding)
    | (?:tell|show)\s+(?:me|us)\s+(?:everything|all|what\s+(?:you|i|we)\s+(?:know|have))(?:\s+(?:you|i|we)\s+(?:know|have))?\s*(?:about|on|regarding)
    | tell\s+(?:me|us)\s+(?:more\s+)?about
    | (?:everything|all)\s+(?:(?:i|we|you)\s+(?:know|have|saved|wrote)\s+)?(?:about|on)
    | (?:give\s+(?:me|us)\s+)?(?:an?\s+|the\s+)?(?:short\s+|quick\s+|brief\s+)?(?:overview|summary|brief|briefing)\s+(?:of|on|about)
    | (?:summari[sz]e|brief\s+(?:me|us)\s+on)(?:\s+(?:everything|what\s+(?:i|we)\s+(?:know|have)))?(?:\s+(?:about|on))?
    | was\s+(?:weiß|weiss|wissen|habe|haben)\s+(?:ich|wir)\s+(?:alles\s+)?(?:über|zu)
    | (?:que|qu['’]est-ce\s+que)\s+(?:sais-je|savons-nous|je\s+sais|nous\s+savons)\s+(?:sur|de)
    | ¿?\s*qué\s+(?:sé|sabemos|tengo)\s+(?:sobre|de)
    | что\s+(?:я\s+знаю|мы\s+знаем)\s+(?:о|об|про)
    )\s+(?P<topic>\S.*)$""",
    re.IGNORECASE | re.VERBOSE,
)
# What follows is a question of its own and no topic.
_ASKS = re.compile(
    r"(?:how|why|when|where|whether|who|which|what|if|wie|warum|wann|wo|ob|comment|pourquoi|quand|cómo|cuándo)\b",
    re.IGNORECASE,
)

_MAX_BARE_WORDS = 4
_JOINS = frozenset({"of", "and"})
# A line that begins so says what to do: it asks how.
_TO_DO = frozenset(
    folded_text(
        """access add allow append apply avoid build calculate call change check clean clear clone close commit compile configure
        connect convert copy count create cut debug delete deploy disable download edit enable export extract filter find fix
        force format forward generate get grep ignore import insert inspect install join kill list load log look make merge
        mount move open parse paste pin ping print pull push put read rebase redirect reload remove rename replace reset
        resize restart restore revert rotate run save scan search select send serve set shrink show skip sort split start
        stop style sync tail test toggle track turn undo unset update upgrade upload use verify view wait watch write"""
    ).split()
)
# A line that ends so asks for one value.
_ONE_VALUE = frozenset(
    folded_text(
        """address age amount capacity count cost date deadline duration fee height length limit maximum minimum number password
        phone price rate rating salary score size speed temperature time version weight width year"""
    ).split()
)


def overview_topic(question: str) -> str | None:
    """The topic a question wants an overview of, or None where it asks for something in particular."""
    match = _OVERVIEW.match(" ".join(question.split()))
    if match is None:
        return None
    topic = match["topic"]
    for _ in range(3):
        topic = without_filler_behind(topic).strip(' ?¿!.,;:"“”«»')
    fits = 0 < len(topic) <= _MAX_CHARS and len(topic.split()) <= _MAX_WORDS
    return topic if fits and not _ASKS.match(topic) else None


def bare_topic(question: NormalizedQuestion) -> str | None:
    """The topic that is all a question says ("inotify watch exhaustion"), or None where it says more or asks one value."""
    if (
        question.question.rstrip().endswith(("?", "？"))
        or question.phrases
        or question.handles
        or question.tags
        or question.source_keys
    ):
        return None
    folded = [token.folded for token in question.tokens]
    told = [token for token in question.tokens if token.folded not in _JOINS]
    if not 1 < len(told) <= _MAX_BARE_WORDS or folded[0] in _TO_DO or folded[-1] in _ONE_VALUE:
        return None
    # Where words are not set apart, a line of words cannot be told from a sentence.
    if any(is_frame(token) or is_intent(token) or token.is_dense or token.folded.isdigit() for token in told):
        return None
    return question.text


# What a question says it is not about: "except", "other than", "but not", "not #draft". Pure.
#
# The clause is taken out of the search text, since searching for what is not wanted would find it. "Not" and "without"
# are mostly part of what is asked ("what is not allowed", "merging without a server", "price excluding VAT"): they
# exclude only where what follows is plainly set apart, and where something is left to search for.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


_MAX_EXCLUSION_CHARS = 1_000

# A part of every lead below. Most questions have none, and do not wait until the leads are compiled.
_HINTS = re.compile(
    r"except|exclu|excep|leaving|not\b|without|other|apart|aside|besid|but|minus|no\b|ni\b|nicht|ohne|kein|sans|pas\b|sin\b"
    r"|au(?:ß|ss)er|ausgen|abgesehen|sauf|hormis|(?<!\S)-",
    re.IGNORECASE,
)
# Leads after which anything is set apart.
_STRONG = r"""(?ix)(?:
      (?<![\w/'’-])(?:
        (?<!try\s)(?<!try:\s)(?<!try\sand\s)except(?:ing)?(?:\s+for)?(?!\s+(?:clause|block|statement|keyword|handler|that|when|if)\b)
      | excluding (?!\s+(?:vat|tax|taxes|gst|mwst|tva|iva|shipping|delivery|postage|fees|interest|inflation)\b)
      | leaving\s+out | (?:not|without)\s+(?:counting|including|mentioning|discussing|considering|covering|(?:talking|speaking|anything)\s+about)
      | other\s+than | apart\s+from | aside\s+from | besides | every(?:thing|one|where)\s+but
      | (?<!last\s)but\s+not | and\s+not (?=\s+(?:the|any|in|on|from|about|[A-Z\#@"“]))
      | außer | ausser | ausgenommen | abgesehen\s+von | aber\s+nicht
      | sauf | hormis | excepté | mais\s+pas | excepto | pero\s+no | a\s+excepción\s+de
      )\b
    | [,(–—]\s*(?:not|nicht|pas)\s(?=\s*\S)
    )"""
# Leads that only set apart a tag, a handle, a quoted phrase or a source key.
_BEFORE_ANCHOR = (
    r"(?i)(?:(?<![\w'’-])(?:not|without|minus|no|nicht|ohne|kein|sans|pas|sin|ni)\s+(?:tagged\s+|from\s+|by\s+|in\s+|with\s+)?"
    rf"|(?<!\S)-)(?=[#@\"“„«「]|{SOURCE_KEY.pattern})"
)
# A word with a minus before it, as people write it to search engines.
_MINUS = r"(?<=\S\s)-(?=[^\W\d_]{3,})"


@dataclass(frozen=True, slots=True)
class WithoutExclusions:
    """A question without what it excludes, and what that is."""

    text: str
    concepts: tuple[Concept, ...] = ()


def take_exclusions(question: str) -> WithoutExclusions:
    """The question without its exclusions; unchanged where it has none or nothing else would be left."""
    if len(question) > _MAX_EXCLUSION_CHARS or not _HINTS.search(question):
        return WithoutExclusions(question)

    text, found = question, list[Concept]()
    for lead in map(re.compile, (_BEFORE_ANCHOR, _STRONG, _MINUS)):
        at = 0
        while len(found) < MAX_EXCLUDED and (match := _next(lead, text, at)):
            objects, end = objects_behind(text, match.end(), match.group().strip(), listed=lead.pattern == _STRONG)
            rest = _tidy(text[: match.start()], text[end:])
            if objects and is_set_apart(match.group(), objects, text) and _says_something(rest):
                found += objects
                text, at = rest, 0
            else:
                at = match.end()
    return WithoutExclusions(text, tuple(dict.fromkeys(found))[:MAX_EXCLUDED]) if found else WithoutExclusions(question)


def _next(lead: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """The next lead that is not part of a quotation."""
    quoted = [match.span() for match in QUOTED.finditer(text)]
    found = (match for match in lead.finditer(text, at) if match.end() > match.start())
    return next((one for one in found if not any(low <= one.start() < high for low, high in quoted)), None)


def _says_something(text: str) -> bool:
    found = normalize(text)
    return bool(found.source_keys) or any(
        not is_function_word(token) and not is_intent(token) for token in found.tokens
    )


def _tidy(before: str, after: str) -> str:
    joined = f"{before.rstrip()} {after.lstrip(' )') if before.count('(') == before.count(')') else after.lstrip()}"
    joined = re.sub(r"\s+([?!.,;:])", r"\1", " ".join(joined.split()))
    return re.sub(r"^[\s,;:]+|,(?=[?!.]|$)", "", joined).strip()


# The things a question leaves out: what stands behind "except" or "not", as concepts. Pure.
#
# Only questions that have such a lead need this (`search/query.py`): the others do not wait for its patterns.


# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)


MAX_EXCLUDED = 8
_MAX_THING_WORDS = 4

_COMMANDS = re.compile(
    r"\b(?:flags?|options?|switch|arguments?|parameters?|command|cli|run|git|ls|grep|install)\b", re.I
)

# "Which X other than Y do Z": what follows the first plain word goes on with the question.
_INSIDE = re.compile(r"^(?:other\s+than|apart\s+from|aside\s+from|besides|außer|ausser)$", re.IGNORECASE)
_ASKING = re.compile(r"^(?:which|what|who|how|when|where|why|welche\w*|wer|was|wie)\b", re.IGNORECASE)
# After "but not" and ", not" a verb or an adverb goes on with what is asked: "but not written down".
_ONLY_THINGS = re.compile(r"(?:but|and|aber|mais|pero)\s+(?:not|nicht|pas|no)$|^[,(–—]", re.IGNORECASE)
_NO_THING = re.compile(
    r"\w+(?:ed|ing|ly|wn|ten)$|(?:here|there|now|known|seen|found|done|possible|true|right)$", re.IGNORECASE
)
_ADVERB = re.compile(r"here$|there$|now$|\w+ly$", re.IGNORECASE)
_PLURAL = re.compile(r"\w{3,}[^s\W]s$", re.IGNORECASE)
_IDIOMS = re.compile(
    r"(?:in\s+person|in\s+time|on\s+time|at\s+once|at\s+all|for\s+long|in\s+use|in\s+general)\b", re.IGNORECASE
)

_NEVER = frozenset(
    """only just yet even to all every always necessarily really sure so too much many least enough that if when because
    being having been able until nur auch immer mehr seulement toujours encore solo siempre""".split()
)
_CARRIERS = re.compile(
    r"\s*(?:(?:about|from|in|on|at|by|for|of|with|those|ones|any|anything|the|an?|my|our|your|this|that|these|der|die|das|den|dem|des|"
    r"von|le|la|les|du|de|el|los|las|ein|eine|un|une|una)\s+|l['’])",
    re.IGNORECASE,
)
_ENDS = frozenset(
    """are is was were am be do does did has have had can could will would should may might must on in at from with for to
    that which who whose when where why how what and or but about into over under since until before after during
    ist sind war waren hat haben est sont était es son fue""".split()
)
_ALSO = re.compile(r"\s*(?:,\s*(?:and|or)?|\band\b|\bor\b|\bund\b|\boder\b|\bet\b|\bou\b|\by\b)\s*", re.IGNORECASE)
_YES_NO = re.compile(r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)
_ANCHOR = re.compile(rf"#[^\s,;?!]+|@[\w.-]+|{QUOTED.pattern}|{SOURCE_KEY.pattern}")
_WORD = re.compile(r"[^\s,;.?!:()\[\]\"“”–—]+(?:[.:][^\s,;.?!:()\[\]\"“”–—]+)*")


def is_set_apart(lead: str, objects: list[Concept], text: str) -> bool:
    """Whether a lead really excludes: a yes-or-no question that says ", not X" asks which of the two is true."""
    if lead.strip() == "-" and objects[0].protected is None:
        return not _COMMANDS.search(text)
    return not (lead.lstrip()[:1] in ",(–—" and _YES_NO.match(text))


def things_in(text: str) -> tuple[Concept, ...]:
    """What a text names, as things to leave out."""
    return tuple(objects_behind(text, 0, "except", listed=True)[0])


def objects_behind(text: str, at: int, lead: str, *, listed: bool) -> tuple[list[Concept], int]:
    """What stands behind a lead, and where it ends."""
    found: list[Concept] = []
    end = at
    while len(found) < MAX_EXCLUDED:
        concept, after, is_name = _object(text, end, lead)
        if concept is None:
            break
        found.append(concept)
        end = after
        more = _ALSO.match(text, end) if listed else None
        if more is None or not (is_name or concept.protected):
            break
        following, _, next_is_name = _object(text, more.end(), lead)
        if following is None or not (next_is_name or following.protected):
            break
        end = more.end()
    return found, end


def _object(text: str, at: int, lead: str) -> tuple[Concept | None, int, bool]:
    """One thing: an anchor, a name, or a few plain words; with where it ends and whether it is a name."""
    while at < len(text) and text[at].isspace():
        at += 1
    start = at
    for _ in range(3):
        if carrier := _CARRIERS.match(text, at):
            at = carrier.end()
    if anchor := _ANCHOR.match(text, at):
        return _protected(anchor.group()), anchor.end(), False
    words = _run(text, at)[:_MAX_THING_WORDS]
    if not words or words[0].group().casefold() in _NEVER or _IDIOMS.match(text, start):
        return None, at, False
    is_name = _is_part_of_name(words[0].group())
    if is_name:
        words = words[: next((n for n, word in enumerate(words) if not _is_part_of_name(word.group())), len(words))]
    elif at == start and _ONLY_THINGS.search(lead) and _NO_THING.match(words[0].group()):
        return None, at, False
    elif _INSIDE.match(lead) and _ASKING.match(text):
        words = _before_verb(text, words)
    return _plain(" ".join(word.group() for word in words)), words[-1].end(), is_name


def _before_verb(text: str, words: list[re.Match[str]]) -> list[re.Match[str]]:
    """The thing in front of what goes on with the question: "tide gauges" are used, "puffins" nest here."""
    following = _WORD.match(text, _past_spaces(text, words[-1].end()))
    if following is not None and following.group().casefold() in _ENDS:
        return words
    # Without an auxiliary the thing ends with its plural, before a verb, or before the last two words.
    plural = next((n for n, word in enumerate(words) if _PLURAL.search(word.group())), None)
    if plural is not None:
        return words[: plural + 1]
    verb = next((n for n, word in enumerate(words) if n and _NO_THING.match(word.group())), None)
    if verb is not None:
        is_adverb = _ADVERB.match(words[verb].group()) and verb > 1
        return words[: verb - 1 if is_adverb else verb]
    return words if following is None and len(words) < 3 else words[: max(1, len(words) - 2)]


def _past_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _run(text: str, at: int) -> list[re.Match[str]]:
    """Words up to the next stop, or to a word that goes on with the sentence."""
    found: list[re.Match[str]] = []
    while match := _WORD.match(text, at):
        if match.group().casefold() in _ENDS:
            break
        found.append(match)
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def _is_part_of_name(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


def _plain(text: str) -> Concept | None:
    tokens = [token for token in query_tokens(text) if not is_function_word(token) and not is_intent(token)]
    if not tokens:
        return None
    terms = tuple(dict.fromkeys(token.folded for token in tokens))
    return Concept(" ".join(token.text for token in tokens), "content", False, terms)


def _protected(anchor: str) -> Concept:
    kind: ProtectedKind
    if anchor[0] == "#":
        kind, name, term = "tag", anchor.rstrip(".:"), folded_text(anchor[1:].rstrip(".:"))
    elif anchor[0] == "@":
        kind, name, term = "handle", anchor, folded_text(anchor.rstrip("."))
    elif QUOTED.match(anchor):
        kind, name, term = "phrase", anchor[1:-1].strip(), anchor[1:-1].strip()
    else:
        kind, name, term = "source_key", anchor, anchor
    return Concept(name, "anchor", False, (term,), kind)
