"""Synonyms, opposites and irregular verbs of everyday English, as questions and notes use them. Data, and look-ups.

A question says "broke down" where a note says "failed". Groups are general English, kept small on purpose: a synonym
lends support at a discount (`topic`) and never satisfies a protected anchor.
"""

from __future__ import annotations

from citewell.synthesis.lexicon.word_groups import others_of, stemmed_groups

# One group a line.
_SYNONYMS = """
begin start open launch commence commission inaugurate
end finish complete conclude close stop cease
break fail failure fault breakdown collapse outage
error mistake wrong incorrect fault
fix repair mend correct solve resolve restore
find discover spot notice detect identify
make build construct create produce manufacture fabricate
buy purchase acquire
sell sale sold
pay cost price spend spent charge fee paid
win won choose chose chosen select pick award
lose lost loss
die died dead death kill perish
born birth
rescue save brought
rename renamed name called became known
replace swap substitute change
remove delete drop strip take
big large size
heavy weigh weight weighs weighed
deep depth below
high tall height
long length duration
wide width
fast quick speed rapid
hot warm temperature heat
old age aged
live life reside lived resident
work job employ worked career
lead head led leader chief
write wrote author written
say said state claim tell told
show display demonstrate
give gave given donate grant
come came arrive
find located situated location
belong own owner property
marry married wife husband spouse
child son daughter children
teach taught teacher lecture
invent inventor devise
win defeat beat victory
rise increase grow grew growth gain
fall decrease decline drop reduce fell
part portion section component
kind type sort form
use utilise utilize employ
allow permit enable
ban forbid prohibit
keep kept hold retain maintain
need require necessary must
help assist aid support
try attempt
vote resolve elect resolution ballot
plan intend propose
earn income revenue
ship vessel boat
house home household dwelling
car vehicle automobile
company firm business corporation
doctor physician dr
film movie
road street
sea ocean
picture image photo photograph
agree accept approve
refuse reject decline deny
supply serve provide deliver
produce generate output
crew people sailor
"""
# Pairs, and the forms of a verb, are separated by a bar.
_OPPOSITES = """
majority minority|early late|before after|first last|more less|most least|increase decrease|rise fall
larger smaller|big small|large small|high low|higher lower|public private|internal external|import export
buy sell|win lose|open closed|start end|begin end|enter leave|join leave|north south|east west|old new
older newer|true false|allow forbid|accept reject|male female|above below|over under|maximum minimum|strong weak
stronger weaker|fast slow|rich poor|upper lower|overrepresented underrepresented|inside outside|odd even
front back|left right|ancient modern|positive negative|inner outer|support oppose|legal illegal|urban rural
summer winter|day night|dead alive|hot cold|wet dry|cause prevent|manual automatic|permanent temporary
success failure|succeed fail|include exclude|similar different|same different
"""
_IRREGULAR = """
become became|begin began begun|bind bound|bite bit|blow blew blown|break broke broken|breed bred|bring brought
build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug|draw drew drawn
drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found
fly flew flown|forbid forbade forbidden|forget forgot forgotten|freeze froze frozen|give gave given|grind ground
grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known|lay laid|lead led|learn learnt
leave left|lend lent|light lit|lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung
rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shoot shot
shrink shrank|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|spin spun|stand stood
steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken
teach taught|tear tore torn|tell told|think thought|throw threw thrown|wake woke woken|wear wore worn|weave wove woven
win won|wind wound|write wrote written
"""

_SYNONYMS_OF = others_of(stemmed_groups(_SYNONYMS))
_OPPOSITES_OF = others_of(stemmed_groups(_OPPOSITES))
_VERB_FORMS = others_of(stemmed_groups(_IRREGULAR))


def synonyms(form: str) -> frozenset[str]:
    """The stems that may stand for this English stem."""
    return _SYNONYMS_OF.get(form, frozenset())


def opposites(form: str) -> frozenset[str]:
    """The stems that say the contrary of this English stem."""
    return _OPPOSITES_OF.get(form, frozenset())


def verb_forms(form: str) -> frozenset[str]:
    """The other stems of an irregular verb: lost for lose."""
    return _VERB_FORMS.get(form, frozenset())
