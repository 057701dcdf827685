"""Words with a part to play in questions: what frames them, what they ask for. Data only."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.text.folding import folded_text

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
