"""Words of one family and words of contrary meaning, as the checking of claims knows them. Data, and look-ups.

A country and its people; verbs of effect and of measurement as reports use them.
"""

from __future__ import annotations

from functools import lru_cache

from citewell.synthesis.lexicon.synonyms_and_opposites import verb_forms
from citewell.synthesis.lexicon.word_groups import others_of, stemmed_groups
from citewell.text.words import stem

_FAMILIES = """
france french|germany german|china chinese|spain spanish|italy italian|japan japanese|england english|britain british
uk britain|usa us america american|russia russian soviet|greece greek|rome roman|holland netherlands dutch
switzerland swiss|sweden swedish|norway norwegian|denmark danish|poland polish|turkey turkish|ireland irish
scotland scottish scots|wales welsh|europe european|asia asian|africa african|portugal portuguese|egypt egyptian
israel israeli|iraq iraqi|iran iranian persian|finland finnish|vietnam vietnamese|thailand thai|peru peruvian
cause induce trigger lead result provoke elicit mediate
reduce decrease lower diminish decline attenuate lessen drop fall
increase raise elevate enhance augment improve boost rise grow
inhibit suppress block repress prevent antagonize abrogate abolish impair
promote stimulate activate facilitate favor drive encourage
require need necessary essential depend indispensable critical crucial
associate link correlate relate connect tie
show demonstrate reveal indicate suggest find report observe
cancer tumor tumour carcinoma malignancy neoplasm
people person individual human population
patient subject participant individual
mouse mice murine|rat rodent
heart cardiac cardiovascular myocardial|kidney renal|liver hepatic|lung pulmonary respiratory|brain cerebral neural
gut intestinal intestine bowel|skin cutaneous dermal|bone skeletal osseous|blood hematopoietic
death mortality die fatal|child children pediatric infant|woman women female|man men male
drug treatment therapy medication|disease illness disorder condition|risk likelihood probability chance
gene genetic genomic|express expression|mutate mutation mutant variant
use utilise utilize employ apply|occur happen take|contain include comprise consist
movie film picture|song track single|band group|novel book|author writer|actor actress|city town|nation country
film movie|football soccer|university college|army military|king monarch ruler|war conflict|law legislation act
large big great huge|small little tiny|begin start commence|end finish conclude|buy purchase acquire
build construct erect|create establish found form|kill murder assassinate slay|win victory triumph
main primary principal chief major|important significant key|many numerous several|total overall altogether
nearly almost about approximately around roughly|annual yearly|daily everyday|located situated based
receive get obtain|attack assault|help assist aid|answer reply respond|choose select pick|live reside dwell
area region zone|border frontier|teach instruct|travel journey|wealthy rich|famous renowned|whole entire
"""
_CONTRARY = """
majority minority|early late|earlier later|before after|first last|more less|more fewer|most least|increase decrease
increase reduce|increase lower|increase decline|rise fall|raise lower|larger smaller|big small|large small
large little|high low|higher lower|highest lowest|public private|internal external|import export|buy sell
bought sold|win lose|won lost|open close|open shut|start end|start stop|start finish|begin end|began ended
begin finish|enter leave|join leave|arrive depart|north south|east west|northern southern|eastern western|old new
old young|older newer|older younger|true false|allow forbid|allow prevent|allow prohibit|permit ban|accept reject
agree disagree|approve reject|male female|man woman|men women|boy girl|father mother|son daughter|brother sister
husband wife|king queen|above below|over under|up down|maximum minimum|strong weak|stronger weaker|fast slow
faster slower|rich poor|upper lower|overrepresented underrepresented|inside outside|odd even|front back|left right
ancient modern|positive negative|positively negatively|inner outer|support oppose|legal illegal|urban rural
summer winter|day night|dead alive|hot cold|warm cool|wet dry|cause prevent|promote inhibit|promote prevent
promote suppress|promote block|promote reduce|activate inhibit|activate suppress|activate inactivate
activate repress|activate deactivate|induce inhibit|induce suppress|induce prevent|enhance reduce|enhance inhibit
enhance impair|enhance suppress|improve worsen|improve impair|improve reduce|stimulate inhibit|stimulate suppress
elevate reduce|elevate decrease|elevate lower|upregulate downregulate|upregulation downregulation|gain loss
gain lose|overexpression knockdown|presence absence|present absent|sensitive resistant|sensitivity resistance
sensitize desensitize|necessary dispensable|essential dispensable|required dispensable|necessary unnecessary
essential unnecessary|sufficient insufficient|dependent independent|susceptible resistant|beneficial harmful
protect harm|benign malignant|acute chronic|common rare|frequent rare|often rarely|always never|manual automatic
permanent temporary|success failure|succeed fail|include exclude|similar different|same different|longer shorter
long short|wide narrow|deep shallow|thick thin|heavy light|bright dark|near far|easy difficult|simple complex
hard soft|good bad|better worse|best worst|safe dangerous|clean dirty|full empty|many few|all none|every none
some none|everything nothing|everyone nobody|ascend descend|advance retreat|attack defend|create destroy
build destroy|build demolish|appear disappear|arrive leave|remember forget|love hate|like dislike|push pull
lend borrow
acquire sell|acquire divest|largest smallest|biggest smallest|longest shortest
oldest youngest|oldest newest|richest poorest|fastest slowest|strongest weakest|earliest latest
give take|send receive|teach learn|question answer|hire fire|appoint dismiss|elect defeat
expand contract|expand shrink|grow shrink|union separation|unite divide|merge split|victory defeat|war peace
friend enemy|ally enemy|guilty innocent|profit loss|supply demand|cheap expensive|cheaper dearer|credit debit
asset liability|deny admit|deny confirm|confirm refute|reveal conceal|hide show|lock unlock|connect disconnect
enable disable|encode decode|encrypt decrypt|add remove|add subtract|insert delete|multiply divide
synchronous asynchronous|mutable immutable|optional mandatory|optional required|valid invalid|possible impossible
able unable|likely unlikely|stable unstable|visible invisible|certain uncertain|regular irregular|equal unequal
fair unfair|formal informal|direct indirect|directly indirectly|active inactive|complete incomplete
correct incorrect|exact approximate|happy sad|employ unemploy|overestimate underestimate|accelerate slow
accelerate decelerate|accelerate delay|exceed trail|top bottom|north-west south-east|major minor|senior junior
superior inferior|primary secondary|domestic foreign|native foreign|export import|vertical horizontal
straight crooked|single married|married divorced|birth death|born died|born dead|life death|alive dead
hypertension hypotension|hyperglycemia hypoglycemia|agonist antagonist|donor recipient|anterior posterior
proximal distal|dorsal ventral|prior subsequent|previous next|predecessor successor|parent child|employer employee
landlord tenant|host guest|client server|winner loser|buyer seller|offence defence|offense defense|popular unpopular
successful unsuccessful|known unknown|aware unaware|related unrelated|significant insignificant|increase diminish
increases decreases|extend shorten|lengthen shorten|strengthen weaken|tighten loosen|widen narrow|adult child
adults children|minimal maximal|minimize maximize|optimist pessimist|voluntary compulsory|partial total
partially fully|partly entirely|mostly rarely|frequently rarely|frequently seldom|nearby distant|separate together
catholic protestant|republican democrat|conservative liberal|capitalist communist|military civilian
monarchy republic|morning evening|sunrise sunset|dawn dusk|spring autumn|land sea|coastal inland|liquid solid
acid alkaline|acidic basic
support object|support reject|support resist|favour oppose|favor oppose|favour object|endorse oppose|endorse reject
praise criticise|praise criticize|approve veto|approve oppose|accept refuse|accept decline|keep abandon|retain drop
employ dismiss|defeat lose|beat lose|recommend discourage|encourage discourage|upgrade downgrade|publish withdraw
launch cancel|schedule cancel|confirm cancel|continue stop|continue cancel|finished unfinished|passed failed
"""


def _with_forms(words: str) -> frozenset[str]:
    stems = [stem(word, "en") for word in words.split()]
    return frozenset(form for one in stems for form in (one, *verb_forms(one)))


_FAMILY_OF = others_of(stemmed_groups(_FAMILIES))
_CONTRARY_OF = others_of(stemmed_groups(_CONTRARY))
_UP = _with_forms("increase rise raise elevate grow gain climb surge expand accelerate strengthen improve boost double")
_DOWN = _with_forms(
    "decrease reduce fall drop diminish decline lessen shrink slump plunge shorten slow weaken worsen halve sink"
)
_DENYING_PREFIXES = ("un", "in", "im", "non", "dis", "ir", "il")


def same_family(form: str) -> frozenset[str]:
    """The stems that may stand for this one."""
    return _FAMILY_OF.get(form, frozenset())


@lru_cache(maxsize=65_536)
def contraries(form: str) -> frozenset[str]:
    """The stems that say the contrary of this one, in every form of a verb: `lost` for `gained`."""
    found: set[str] = set()
    for one in (form, *verb_forms(form)):
        for other in _CONTRARY_OF.get(one, ()):
            found |= {other} | verb_forms(other)
    return frozenset(found)


def moves_against(one: str, other: str) -> bool:
    """Whether one stem tells of a rise and the other of a fall."""
    return (one in _UP and other in _DOWN) or (one in _DOWN and other in _UP)


def denies_by_prefix(one: str, other: str) -> bool:
    """Whether one stem is the other with a prefix that denies: `unstable` and `stable`."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == prefix + shorter for prefix in _DENYING_PREFIXES)
