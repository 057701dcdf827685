"""Languages: which one a text is in, its stop words and its stemmer.

Detection counts function words, which is enough to choose a stemmer and wrong only where it hardly matters (very short
texts: no language, plain folding). Scripts decide where they can. Words are compared in folded form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache

from citewell.text.canonical import folded_text

_STOP_TEXT: dict[str, str] = {
    "en": """a about above after again against all also am an and any are as at be because been before being below
        between both but by can cannot could did do does doing down during each few for from further had has have
        having he her here hers herself him himself his how i if in into is it its itself just me more most my myself
        no nor not now of off on once only or other our ours ourselves out over own same she should so some such than
        that the their theirs them themselves then there these they this those through to too under until up upon very
        was we were what when where which while who whom whose why will with would you your yours yourself""",
    "de": """aber alle als also am an auch auf aus bei beim bin bis bist da damit dann das dass dein dem den denn der
        des dich die dir doch dort du durch ein eine einem einen einer eines er es etwas euch fur gegen haben hat hatte
        hier hinter ich ihm ihn ihr ihre im in ist ja jede jedem jeden jeder jedes jetzt kann kein keine konnen man mein
        mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so soll sondern uber um und
        uns unser unter vom von vor war waren was weil wenn wer werden wie wieder will wir wird wo wurde zu zum zur
        zwischen""",
    "fr": """a ai au aux avec avait avant c ce ces cette comme d dans de des du elle elles en est et etait ete etre eu
        il ils j je l la le les leur leurs lui ma mais me meme mes moi mon n ne nos notre nous on ont ou par pas plus
        pour qu quand que quel quelle qui s sa sans se ses si son sont sur t ta te tes toi ton tous tout toute tu un
        une vos votre vous y""",
    "es": """a al algo ante antes aqui asi como con contra cual cuando de del desde donde dos el ella ellas ellos en
        entre era es esa ese eso esta este esto estos fue ha han hasta hay la las le les lo los mas me mi muy nada ni no
        nos nosotros o os otra otro para pero poco por porque que quien se sea ser si sin sobre son su sus tambien tanto
        te tiene todo todos tu un una uno unos y ya yo""",
    "it": """a ad ai al alla alle allo anche c che chi ci come con cui da dal dalla dei del della delle dello di dove e
        ed era essere fra gli ha hanno ho i il in io l la le lei lo loro lui ma mi ne nei nel nella nelle noi non nostro
        o per perche piu quale quando quello questa questo qui se sei si sia sono su sua sue sul sulla suo suoi te ti
        tra tu tutti tutto un una uno vi voi""",
    "pt": """a ao aos as ate com como da das de dela dele delas deles do dos e ela elas ele eles em entre era essa esse
        esta este eu foi foram ha isso isto ja la lhe mais mas me mesmo meu minha muito na nao nas nem no nos nossa
        nosso
        num numa o os ou para pela pelas pelo pelos por qual quando que quem se sem ser seu seus so sua suas tambem te
        tem um uma voce""",
    "nl": """aan al alles als altijd ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen had
        heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij
        mijn
        moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen tot u uit uw van veel voor
        want waren was wat we wel werd wie wij wil worden zal ze zei zelf zich zij zijn zo zonder zou""",
    "sv": """alla allt att av blev bli da de dem den denna deras dess det detta dig din du dar efter ej eller en er ett
        fran for ha hade han hans har henne hennes hon honom hur har i icke ingen inom inte jag ju kan man med mellan
        men
        mig min mot mycket ni nu nar nagon och om oss pa samma sedan sig sin sjalv ska skulle som sa till under upp ut
        utan vad var vara vi vid vilken ar at""",
    "da": """af alle alt anden at blev blive da de dem den denne der deres det dette dig din du efter eller en end er et
        for fra ham han hans har havde hende her hos hun hvad hvis hvor i ikke ind jeg jo kan man mange med meget men
        mig
        min mod ned noget nogle nu nar og ogsa om op os over pa sadan selv sig sin skal skulle som til ud under var vi
        vil ville vor""",
    "no": """alle at av ble bli da de deg dem den denne der deres det dette di din du eller en er et etter for fordi fra
        ha hadde han hans har henne her hun hva hvis hvor i ikke inn jeg kan man mange med meg men min mot na noe
        noen og
        ogsa om opp oss over pa sa seg selv sin skal som til ut var vi vil""",
    "fi": """ei eivat en et etta han he hanen hanta ja jo joka jos jotka kanssa keta kuin kun me mika mina mukaan mutta
        myos ne niiden niin nyt oli olin olla on ovat se sekä sen siina sina sita tai tama te vaan vai vain voi""",
    "ru": """а без более бы был была были было быть в вам вас весь во вот все всего вы где да для до его ее если есть
        еще
        же за и из или им их к как когда кто ли мне может мы на над надо не него нет ни них но о об он она они от по под
        при с со так там то того тоже только ты у уже хотя чего что чтобы эта эти это я""",
}
_STEMMERS = {
    "en": "english",
    "de": "german",
    "fr": "french",
    "es": "spanish",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
    "sv": "swedish",
    "da": "danish",
    "no": "norwegian",
    "fi": "finnish",
    "ru": "russian",
}
LANGUAGE_NAMES = {language: name.capitalize() for language, name in _STEMMERS.items()}
LANGUAGES = tuple(_STOP_TEXT)
_SAMPLE_CHARS = 4_000
_SCRIPTS = (
    ("ja", r"[\u3041-\u30ff]"),
    ("ko", r"[\uac00-\ud7a3]"),
    ("zh", r"[\u4e00-\u9fff]"),
    ("th", r"[\u0e01-\u0e3a]"),
    ("ar", r"[\u0620-\u064a]"),
    ("he", r"[\u05d0-\u05ea]"),
    ("el", r"[\u0370-\u03ff]"),
    ("hi", r"[\u0904-\u0939]"),
)


@cache
def stop_words(language: str) -> frozenset[str]:
    """The function words of a language, folded; none for a language that has no list."""
    return frozenset(folded_text(_STOP_TEXT.get(language, "")).split())


@cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    """Which languages have a function word."""
    words = {language: stop_words(language) for language in LANGUAGES}
    every = frozenset[str]().union(*words.values())
    return {word: tuple(language for language in LANGUAGES if word in words[language]) for word in every}


def detect_language(text: str) -> str | None:
    """The language a text is mostly written in, or None where too little speaks for any."""
    sample = text[:_SAMPLE_CHARS]
    if not sample.isascii():
        letters = sum(map(str.isalpha, sample)) or 1
        for language, script in _SCRIPTS:
            if len(re.findall(script, sample)) * 5 > letters:
                return language
    counts: Counter[str] = Counter()
    languages_of = _languages_of()
    for word, times in Counter(filter(languages_of.__contains__, folded_text(sample).split())).items():
        for language in languages_of[word]:
            counts[language] += times
    ranked = counts.most_common(2)
    if not ranked or ranked[0][1] < 2 or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def is_function_word_anywhere(folded: str) -> bool:
    """Whether any language counts this folded word among its commonest."""
    return folded in _languages_of()


def is_stop_word(folded: str, languages: tuple[str, ...] = ("en",)) -> bool:
    """Whether a folded word carries no meaning of its own in any of these languages."""
    return any(folded in stop_words(language) for language in languages)


@lru_cache(maxsize=32)
def stemmer_for(language: str | None) -> Callable[[str], str]:
    """The stemmer of a language; the word itself where there is none.

    Texts too short to tell are stemmed as English: most often they are, and the query side does the same.
    """
    name = _STEMMERS.get(language or "en")
    if name is None:
        return _unstemmed
    import Stemmer

    stem: Callable[[str], str] = Stemmer.Stemmer(name).stemWord
    return stem


def _unstemmed(word: str) -> str:
    return word.removesuffix("'s")


# Which language a question is in, and which of its words carry no meaning: by the lists of `stop-words`.
#
# A question is short, so every function word counts, where a document is told by the commonest ones (`language`).
# English keeps its own list: that of the library holds words such as "able" and "system", which people search for.


_WORD = re.compile(r"[^\W\d_]+")
# Below this share of function words a question is a list of keywords, of no language.
_LEAST_SHARE = 0.3
# What the library leaves out.
_FURTHER_FUNCTION_WORDS = {
    "it": "quale quali quanto quanta quanti quante dice dicono",
    "de": "gibt heisst sagt welch",
    "es": "cuales dice dicen hay",
    "fr": "quels quelles dit disent",
}


@cache
def function_words(language: str) -> frozenset[str]:
    """The folded function and question words of a language that has a stemmer; English as the library has it."""
    from stop_words import get_stop_words

    name = LANGUAGE_NAMES.get(language)
    if name is None:
        return frozenset()
    further = _FURTHER_FUNCTION_WORDS.get(language, "").split()
    return frozenset(folded_text(word) for word in (*get_stop_words(name.lower()), *further)) | stop_words(language)


def question_language(text: str) -> str | None:
    """The language of a question, or None where its words do not tell; English wins a tie."""
    words = _WORD.findall(folded_text(text))
    english = stop_words("en")
    if sum(word in english for word in words) * 2 >= len(words) > 0:
        return "en"
    if not any(map(is_function_word_anywhere, words)):
        return None  # keywords: the long lists need not be read
    counts = {language: sum(word in function_words(language) for word in words) for language in LANGUAGE_NAMES}
    best = max(counts, key=lambda language: counts[language], default="en")
    enough = counts[best] >= 2 and counts[best] >= _LEAST_SHARE * len(words)
    tied = sum(count == counts[best] for count in counts.values()) > 1 and best != "en"
    return best if enough and not tied else None


def is_foreign_function_word(folded: str, language: str | None) -> bool:
    """Whether a word of a question in another language than English carries no meaning there."""
    return language not in (None, "en") and folded in function_words(language or "")
