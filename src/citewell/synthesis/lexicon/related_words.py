"""Words of the evidence of one root with a word of the question, and words that rule it out. Pure.

A question says "Britain" or "measured" where a note says "British" or "measurement". Roots are told by endings, so
words may be taken for related that are not ("general" and "generate"): a related word lends support at a discount, and
numbers, versions and tags have none.
"""

from __future__ import annotations

from collections.abc import Iterable

from citewell.synthesis.lexicon.word_groups import others_of, stemmed_groups

_LEAST_ROOT = 4
# Where both words have an ending, the root has to be longer: Martin is no marten.
_LEAST_BARE_ROOT = 5
_LONGEST = 24
# With the fewest letters the rest must have: "import" is not the contrary of "port".
_DENYING = {"un": 4, "non": 4, "in": 7, "im": 7, "ir": 7}

# What English stems of one root may differ in.
_ENDINGS = frozenset(
    """a al an anc ant ar ari at ate ation ator e ean ed en enc ent er es ese i ia ial ian ic ici ier if ifi il in ing
    ion is ish ism ist it iti ity iv ive iz ize ment n ness or ori ous s t th tion ur y""".split()
)

_PEOPLE_OF = others_of(stemmed_groups("peoples"))
_INSTEAD_OF = others_of(stemmed_groups("exclusive"))


def same_root_words(forms: Iterable[str], stems: frozenset[str]) -> frozenset[str]:
    """The stems of the evidence that are of one root with one of these forms."""
    found: set[str] = set()
    for form in forms:
        if form.isalpha() and len(form) <= _LONGEST:
            # A short word, such as an initialism, is related to its plural only.
            found |= (_PEOPLE_OF.get(form, frozenset()) | {f"{form}s"}) & stems
            found.update(one for one in stems if one[:3] == form[:3] and _share_a_root(form, one))
    return frozenset(found.difference(forms))


def excluding_words(forms: Iterable[str], stems: frozenset[str]) -> frozenset[str]:
    """The stems of the evidence that rule a word out: unpopular for popular, fourth for fifth."""
    found: set[str] = set()
    for form in forms:
        found |= _INSTEAD_OF.get(form, frozenset()) & stems
        for prefix, least in _DENYING.items():
            if len(form) >= least and f"{prefix}{form}" in stems:
                found.add(f"{prefix}{form}")
            if form.startswith(prefix) and len(form) - len(prefix) >= least and form[len(prefix) :] in stems:
                found.add(form[len(prefix) :])
    return frozenset(found)


def _share_a_root(one: str, other: str) -> bool:
    """Whether what two words have in common is long enough, and only endings tell them apart."""
    common = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        common += 1
    # An ending may begin with a letter that both words have.
    for at in range(max(_LEAST_ROOT, common - 2), common + 1):
        endings = {ending for ending in (one[at:], other[at:]) if ending}
        if endings <= _ENDINGS and (len(endings) < 2 or at >= _LEAST_BARE_ROOT):
            return True
    return False
