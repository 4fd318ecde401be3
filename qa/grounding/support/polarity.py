"""Compare the polarity of two sentences: negation, and words of opposite direction."""

import re
from collections.abc import Mapping, Sequence

from qa.grounding.support.words import Word, stem

NEGATIONS = frozenset(
    "not no never none nobody nothing neither nor without unable hardly scarcely barely lack lacks"
    " lacked lacking fail fails failed nowhere".split()
)
# What a statement stands or falls with, and what takes it back in part: none may be left out of a
# quote, nor may a clause, or the end of one, with it.
CONDITIONS = frozenset(
    "only if unless until till except excepting excluding without provided providing assuming"
    " whenever when once lest otherwise rarely seldom sometimes occasionally usually generally"
    " mostly partly partially largely almost nearly virtually practically allegedly supposedly"
    " purportedly reputedly ostensibly apparently seemingly presumably hypothetically theoretically"
    " theory possibly probably potentially maybe perhaps reportedly whether".split()
)
# What takes the next word's meaning away, or only says that someone takes it so: "a former mill".
_PRIVATIVES = frozenset(
    "former formerly erstwhile fake false mock counterfeit forged sham imitation dummy simulated"
    " artificial pseudo quasi non anti ex socalled wouldbe alleged supposed purported reputed"
    " ostensible apparent seeming putative presumed hypothetical theoretical possible probable"
    " potential likely unlikely doubtful questionable rumored rumoured attempted planned proposed"
    " intended near believed believe believes thought claimed claims suspected suspects assumed"
    " assumes expected alleges denies denied deny doubts doubted doubt seems seem seemed appears"
    " appear appeared".split()
)
# Words that limit a statement; none may be omitted from a quote on its own.
LIMITS = frozenset(
    "only may might can could should must would will all every each always any some many most few"
    " several sometimes often rarely seldom usually mostly partly almost nearly about approximately"
    " roughly least up more less fewer over under above below before after until since within or if"
    " unless except than either both".split()
)
# Words a negation reaches over.
_REACH = 4

# One axis per line, one end against the other; an indented line continues the last.
_OPPOSITES = """
increased increase rise rose elevated risen grow grew grown gain raise climb expand elevate
  boost upregulate augment heighten : decrease reduce reduction fall fell fallen drop decline
  lower lessen shrink shrank diminish downregulate lose lost attenuate
more greater higher larger bigger : less fewer lower smaller
high large big : low small little
improve enhance benefit strengthen better best : worsen impair harm damage weaken worse worst
  deteriorate
promote induce activate stimulate trigger cause enable facilitate accelerate drive encourage
  lead : inhibit suppress block prevent repress hinder impede disable slow antagonize abolish
  protect discourage delay counteract restrict
exacerbate aggravate intensify : alleviate ameliorate rescue relieve restore repair protect
related associated correlated linked connected dependent influence affect : unrelated
  independent unaffected
before earlier prior : after later following
early : late
above over exceed beyond : below under beneath
all every always each everyone everything : none no never nobody nothing
maximum most maximal : minimum least minimal
allow permit approve authorize accept let : forbid prohibit deny ban reject refuse disallow
include contain : exclude omit
open : close closed shut
begin start began begun : end finish stop cease
first : last
positive positively : negative negatively inversely
present presence : absent absence
longer long : shorter short
faster fast quick rapid quicker : slower slow
stronger strong : weaker weak
easier easy : harder hard difficult
older old : newer younger new young
north northern : south southern
east eastern : west western
left : right
true correct valid : false incorrect wrong invalid
succeed success successful win won : fail failure unsuccessful
sensitive susceptible vulnerable : resistant resistance immune
buy bought purchase : sell sold
required mandatory compulsory necessary : optional voluntary
inside internal within : outside external
upper : lower
add : remove delete subtract
common frequent : rare infrequent
hot warm : cold cool
safe : dangerous unsafe
public : private
import : export
with : without
must shall : may might
same identical similar : different
cheap : expensive
active : inactive
"""
_OVER_UNDER = re.compile(r"^(?:over|under)")
_PREFIXES = ("un", "in", "im", "non", "dis", "ir")


def _read_axes(lines: str) -> Mapping[str, frozenset[tuple[int, bool]]]:
    """Parse the axes of opposites: stem to ``(line number, end)``."""
    axes: dict[str, set[tuple[int, bool]]] = {}
    for number, line in enumerate(lines.strip().replace("\n  ", " ").splitlines()):
        for is_second, end in enumerate(line.split(":")):
            for word in end.split():
                axes.setdefault(stem(word), set()).add((number, bool(is_second)))
    return {word: frozenset(ends) for word, ends in axes.items()}


_AXES = _read_axes(_OPPOSITES)


def is_negation(word: Word) -> bool:
    return word.text in NEGATIONS


def is_guarded(word: Word) -> bool:
    """Return whether a word must not be omitted from a quote on its own."""
    return (
        is_negation(word) or is_condition(word) or word.is_sign
        or word.text in LIMITS or word.text in _PRIVATIVES or word.stem in _AXES
    )  # fmt: skip


def is_condition(word: Word) -> bool:
    """Return whether a word makes a condition, which must not be omitted."""
    return word.text in CONDITIONS


def takes_back(word: Word) -> bool:
    """Return whether a word negates, limits or offers as a choice what is around it."""
    is_part = word.text in CONDITIONS or word.text in {"or", "than"}
    return is_part or is_negation(word) or word.text in _PRIVATIVES


def are_opposed(word: str, other: str) -> bool:
    """Return whether two stems are opposite ends of an axis, or one negates the other."""
    ends, others = _AXES.get(word, frozenset()), _AXES.get(other, frozenset())
    if any((axis, not is_second) in others for axis, is_second in ends):
        return True
    if {word[:4], other[:4]} == {"over", "unde"}:
        return _OVER_UNDER.sub("", word) == _OVER_UNDER.sub("", other)
    short, long = sorted((word, other), key=len)
    return len(short) > 3 and any(long == prefix + short for prefix in _PREFIXES)  # noqa: PLR2004


def points_the_other_way(claim: Sequence[Word], source: Sequence[Word]) -> bool:
    """Return whether the claim says the opposite of the source.

    It does if only one of them has a negation or an opposite word. Both together cancel out: "does
    not rise" agrees with "falls".
    """
    stems = {word.stem for word in claim if word.is_content}
    claim_negates = any(map(is_negation, claim))
    # A negation of the source alone must apply to a word of the claim.
    source_negates = any(
        claim_negates or stems & {each.stem for each in source[at + 1 : at + 1 + _REACH]}
        for at, word in enumerate(source)
        if is_negation(word)
    )
    return (claim_negates != source_negates) != _direction_differs(claim, source)


def _direction_differs(claim: Sequence[Word], source: Sequence[Word]) -> bool:
    """Return whether the source has only the opposite of a word of the claim."""
    stems = {word.stem for word in source}
    for word in claim:
        if word.stem in stems or is_negation(word):
            continue
        ends = _AXES.get(word.stem, frozenset())
        if any(ends & _AXES.get(other, frozenset()) for other in stems):
            continue
        if any(are_opposed(word.stem, other) for other in stems - NEGATIONS):
            return True
    return False
