"""Decide what may be omitted from an English sentence without changing its meaning."""

from collections.abc import Iterator, Sequence

from qa.grounding.support.numbers import counts, is_currency
from qa.grounding.support.polarity import is_condition, is_guarded, is_negation
from qa.grounding.support.words import Word, stem

_OPENERS = frozenset(
    "but and or which who whom whose that because if unless when while whereas although though"
    " since so until where".split()
)
# A clause that one of these opens says nothing on its own when the word is left out.
_BINDING = frozenset(
    "which who whom whose because if unless when while although though that whether"
    " including".split()
)
PREPOSITIONS = frozenset(
    "of in on at by for with from to since after before during under over through when if because"
    " as within until between".split()
)
# Words at the start of a clause that continues the one before.
_BEGINNINGS = _OPENERS | {"including"}
_RELATIVE = frozenset("which who that".split())
# Without a comma these restrict the noun before them: "patients who smoke".
CHOOSING = frozenset("which who whom whose that where while".split())
# A clause that begins so is about something of its own, whatever limits it has.
_ASIDE = frozenset("which who whom whose because since whereas so".split())
_CONTRASTS = frozenset("but though although".split())
# After a comma these join a sentence of its own, unless a limit comes at once: ", but only now".
_JOINING = frozenset("and but".split())
_NEAR = 3
# At a clause's end what these open is part of what is said: "faster than light", "bread or butter".
_COMPLETING = frozenset("than or as nor".split())
# "We show that it works" says that it works; "we doubt that it works" does not.
_ASSERTING = frozenset(
    stem(word)
    for word in "show shown demonstrate find found reveal confirm prove establish indicate"
    " conclude observe report note know known".split()
)


def may_leave_out_rest(source: Sequence[Word], *, remaining: set[int]) -> bool:
    """Return whether all words at the other positions may be omitted."""
    if not remaining:
        return False
    if any(
        word.is_joined and (at in remaining) != (at - 1 in remaining)
        for at, word in enumerate(source)
    ):
        return False
    if any(_is_cut_off(source, at, remaining) for at in remaining):
        return False
    clauses = list(split_clauses(source))
    return keep_subjects(source, clauses, remaining) and all(
        _may_leave_out(source, clause, remaining) for clause in clauses
    )


def _is_cut_off(source: Sequence[Word], at: int, remaining: set[int]) -> bool:
    """Return whether a phrase lost its head, or a name or owner what follows it."""
    word, following = source[at], source[at + 1 : at + 2]
    if word.text in PREPOSITIONS and at and at - 1 not in remaining and not word.opens_clause:
        return True
    if not word.is_name or at + 1 in remaining or not following or following[0].opens_clause:
        return False
    is_manner = following[0].text.endswith("ly") and not is_guarded(following[0])
    return following[0].is_name or (following[0].is_content and not is_manner)


def keep_subjects(source: Sequence[Word], clauses: Sequence[range], remaining: set[int]) -> bool:
    """Return whether each kept clause after another keeps its own subject.

    "Anna bought the mill and Berta sold the farm" must not become "Anna sold the farm".
    """
    kept_clauses = [clause for clause in clauses if remaining.intersection(clause)]
    for clause in kept_clauses[1:]:
        own = [at for at in clause if source[at].text not in _BEGINNINGS]
        if own and own[0] not in remaining:
            return False
    return True


def split_clauses(source: Sequence[Word]) -> Iterator[range]:
    start = 0
    for at, word in enumerate(source):
        if at > start and (word.opens_clause or word.text in _OPENERS):
            yield range(start, at)
            start = at
    yield range(start, len(source))


def _may_leave_out(source: Sequence[Word], clause: range, remaining: set[int]) -> bool:
    if not remaining.intersection(clause):
        words = [source[at] for at in clause]
        is_of_name = clause.start > 0 and source[clause.start - 1].is_name
        if is_of_name and words[0].text in {"which", "who"}:
            return True  # a name needs nothing to choose among its bearers
        # It may depend on an omitted clause: "It runs, but rusts if wet".
        is_left_behind = clause.start - 1 not in remaining and not words[0].opens_clause
        goes_along = is_left_behind and min(remaining) < clause.start
        return goes_along or _may_go_whole(words, is_first=not clause.start)
    gone = {at for at in clause if at not in remaining}
    starts = sorted(at for at in gone if at - 1 not in gone)
    ends = sorted(at + 1 for at in gone if at + 1 not in gone)
    runs = map(range, starts, ends)
    return all(_may_go(source, run, clause, remaining) for run in runs)


def _may_go_whole(words: Sequence[Word], *, is_first: bool) -> bool:
    """Return whether a clause is independent and does not limit the others."""
    first = words[0]
    if first.text == "or" or (first.text in CHOOSING and (is_first or not first.opens_clause)):
        return False
    own = words[:_NEAR] if first.text in _JOINING and first.opens_clause else words
    if first.text not in _ASIDE and any(map(is_condition, own)):
        return False
    if not any(map(is_negation, words)):
        return True
    is_limit = is_negation(first) or first.text in _CONTRASTS
    return not is_limit and not all(is_negation(word) or not word.is_content for word in words)


def _may_go(source: Sequence[Word], run: range, clause: range, remaining: set[int]) -> bool:
    """Return whether a run of words may be omitted from a clause that is kept."""
    words = [source[at] for at in run]
    if any(is_negation(word) or is_condition(word) for word in words) or _measures(source, run):
        return False
    if run.stop == clause.stop:
        return words[0].text not in _COMPLETING
    if run.start == clause.start and words[0].text in _BINDING:
        return len(words) == 1 and _may_stand_alone(source, clause, remaining)
    hangs = words[-1].text in PREPOSITIONS
    return not hangs and not any(is_guarded(word) or word.is_number for word in words)


def _measures(source: Sequence[Word], run: range) -> bool:
    """Return whether the run has the unit of the number before it or after it."""
    first, last = source[run.start], source[run.stop - 1]
    before = run.start > 0 and counts(source[run.start - 1])
    after = run.stop < len(source) and counts(source[run.stop])
    is_unit = first.is_content and not first.opens_clause
    return (before and is_unit) or (after and (is_currency(last) or last.is_sign))


def _may_stand_alone(source: Sequence[Word], clause: range, remaining: set[int]) -> bool:
    """Return whether a clause means the same without the word that links it back."""
    word, before = source[clause.start], source[: clause.start]
    if word.text == "including":
        return True
    if clause.start - 1 in remaining:
        return word.text in _RELATIVE
    asserts = any(each.stem in _ASSERTING for each in before)
    return word.text == "that" and asserts and not any(map(is_guarded, before))
