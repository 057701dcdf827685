"""Which way a statement points: to more or to less of something, and whether it finds nothing at all. Pure.

Reports put one finding in many words: "raises", "is positively associated with", "patients with X had higher Y". Each
such word points one way; a denial just before it turns it round. What a claim's words point to is compared with what
the sentences about the same things point to. It counts words, so a sentence of several findings may mislead it: it
moves the score and is never alone a reason to reject.

Example:
    claim:   Smoking raises the risk of stroke.
    passage: Among smokers the risk of stroke was higher.
    verdict: partial
    reason:  not in the quote: raises
    support: 0.82

Example:
    claim:   Smoking raises the risk of stroke.
    passage: Among smokers the risk of stroke was lower.
    verdict: partial
    reason:  not in the quote: raises
    support: 0.49
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from citewell.synthesis.checking.tokens import Sentence, Token
from citewell.text.words import stem

_MORE = """
increase increased rise raise elevate elevated higher high enhance augment improve boost grow more greater gain promote
stimulate activate facilitate induce up upregulate upregulated upregulation overexpress overexpression accelerate
amplify strengthen exacerbate potentiate enrich expand extend long longer larger positive positively abundant excess
excessive hyperactivation upregulates aggravate worsen overestimate support cause trigger drive sensitize protect
"""
_LESS = """
decrease decreased reduce reduced fall lower low diminish diminished decline attenuate lessen less fewer loss lose
inhibit suppress block repress prevent down downregulate downregulated downregulation impair slow slower weaken
alleviate ameliorate deplete depletion shrink shorten short shorter smaller negative negatively inverse inversely
deficient deficiency deficit lack absence absent knockout knockdown deletion delete abolish abrogate eliminate ablation
underestimate antagonize dampen blunt limit minimal hinder disrupt oppose
"""
_FOR = """
contribute risk induction activation elevation enhancement augmentation promotion stimulation enlargement progress
progression sufficient necessary essential require crucial critical important effective efficacious efficient efficacy
benefit beneficial better best superior success successful able capable ability accurate associated link correlate
relationship predict influence affect play key involve mediate lead result express presence frequent common strong
strongly robust significant substantial major
"""
_AGAINST = """
ineffective inefficient inaccurate unable incapable trivial dispensable unnecessary insufficient resistant resistance
protective worse inferior poor rare rarely weak unrelated independent unlikely unaffected minor small terminate stop
arrest degrade degradation destroy harm delay retard compromised dysfunction silencing restrict restrain counteract
hamper curtail disruption uncouple lacking fails inability prevents avoid
"""
_DENIES = frozenset("not no never none neither nor cannot".split())
_REACH = 3
_NOTHING_FOUND = re.compile(
    r"\b(?:no|not|nor|neither|without)\b[^.;]{0,60}?\b(?:differen|effect|associat|relat|correlat|chang|evidence|impact"
    r"|influence|benefit|improv|reduc|increas|affect|alter|requir)"
    r"|\b(?:similar|unchanged|unaffected|comparable|dispensable|independent(?:ly)? of)\b"
)


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word, "en") for word in words.split())


_PLAIN_MORE, _PLAIN_LESS = _stems(_MORE), _stems(_LESS)
_ANY_MORE, _ANY_LESS = _PLAIN_MORE | _stems(_FOR), _PLAIN_LESS | _stems(_AGAINST)


def denies(token: Token) -> bool:
    return token.folded in _DENIES or token.folded.endswith("n't")


def pointing(tokens: Sequence[Token], *, plain: bool) -> int:
    """How many words point to more, less those that point to less; `plain` counts words of quantity only."""
    more, less = (_PLAIN_MORE, _PLAIN_LESS) if plain else (_ANY_MORE, _ANY_LESS)
    total = 0
    for at, token in enumerate(tokens):
        way = (token.stem in more) - (token.stem in less)
        if way and any(denies(before) for before in tokens[max(0, at - _REACH) : at]):
            way = -way
        total += way
    return total


def finds_nothing(sentence: Sentence) -> bool:
    """Whether a sentence reports that something made no difference."""
    return bool(_NOTHING_FOUND.search(sentence.folded[:4_000]))


def agreement(claim: Sentence, sentences: Sequence[Sentence], weights: Sequence[float], *, plain: bool) -> float:
    """From -1, the sentences point the other way, over 0 to 1; each counts by how much it speaks of the claim."""
    way = pointing(claim.tokens, plain=plain)
    total = math.fsum(weights)
    if not way or not total:
        return 0.0
    told = math.fsum(w * pointing(one.tokens, plain=plain) for w, one in zip(weights, sentences, strict=True)) / total
    return max(-1.0, min(1.0, told / 2)) * (1 if way > 0 else -1)
