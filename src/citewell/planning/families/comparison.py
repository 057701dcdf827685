"""Comparison: two or more things side by side. Each side is searched for on its own and each must be found."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

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
