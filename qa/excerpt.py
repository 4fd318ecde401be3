"""Choose what is quoted of a passage: the segments that answer, with those that they need."""

from collections.abc import Sequence

from qa.segments import (
    Kind,
    Segment,
    Span,
    earlier_steps,
    goes_on,
    list_start,
    split_segments,
)

# Words that what is needed may have over the most words of an excerpt.
NEEDED_WORDS = 15


def find_excerpt(text: str, answer: Span, *, most_words: int, list_words: int = 0) -> Span:
    """Return the span of the segments around the part that answers.

    The segments behind it come before those in front of it, as long as there is room. A heading
    is not crossed; an item of a list or a row of a table goes without its neighbours.

    Args:
        answer: Where the part that answers stands in the text, half-open.
        most_words: Of all segments together; those that the answer touches come whole.
        list_words: Of a list or table, with what leads to it, that comes whole where the answer
            stands in it or leads to it; one of more words goes without the neighbours, too.
    """
    found = _section_around(text, answer)
    if not found:
        return 0, len(text)
    touched = [
        at for at, each in enumerate(found) if each.end > answer[0] and each.start < answer[1]
    ]
    ahead = sum(each.start < answer[1] for each in found[1:])
    first, last = (touched[0], touched[-1]) if touched else (ahead, ahead)
    whole = _list_around(found, first, last) if list_words else None
    if whole is not None and len(text[slice(*whole)].split()) <= list_words:
        return whole
    first, last = _grow(text, found, first, last, most_words=most_words)
    return found[first].start, found[last].end


def find_needs(text: str, excerpt: Span, *, most_words: int) -> list[Span]:
    """Return what an excerpt that begins with an item, row or step needs and has not.

    That is the sentence that leads to the list, the items it is nested in, the table's header; of
    numbered steps all those before, as long as there is room.

    Args:
        most_words: Of the excerpt and what it needs.
    """
    found = _section_around(text, excerpt)
    at = next((at for at, each in enumerate(found) if each.start == excerpt[0]), None)
    if at is None or not found[at].begins_item:
        return []
    needs = list(found[at].needs)
    steps = [each.span for each in earlier_steps(text, found, at)]

    def has_room(spans: Sequence[Span]) -> bool:
        return sum(len(text[slice(*each)].split()) for each in [*spans, excerpt]) <= most_words

    if steps and has_room([*needs, *steps]):
        needs = sorted({*needs, *steps})
    while needs and not has_room(needs):
        needs.pop(0)
    return needs


def _grow(
    text: str, found: Sequence[Segment], first: int, last: int, *, most_words: int
) -> tuple[int, int]:
    """Add what the segments from the first to the last need, then what there is room for."""

    def has_room(start: int, end: int, *, words: int = most_words) -> bool:
        fits = start >= 0 and end < len(found)
        return fits and len(text[found[start].start : found[end].end].split()) <= words

    def is_rule(at: int) -> bool:
        return 0 < at < len(found) and found[at].kind is Kind.RULE

    needed = most_words + NEEDED_WORDS
    if found[first].leans and has_room(first - 1, last, words=needed):
        first -= 1
    if found[last].leads and has_room(first, last + 1, words=needed):
        last += 1
    names_columns = is_rule(last) or is_rule(last + 1)
    if is_rule(first - 1) and has_room(first - 2, last, words=needed):
        first -= 1
    if is_rule(first):
        first -= 1
    is_item = found[first].is_listed and not names_columns
    end = last
    while has_room(first, end + 1) and not (is_item and found[end + 1].begins_item):
        end += 1
    # What leads to that for which there is no room is left out: a lead-in, a table's header.
    while end > last and (found[end].leads or is_rule(end) or is_rule(end + 1)):
        end -= 1
    last = end
    while has_room(first - 1, last) and not _is_neighbour(found, first - 1):
        first -= 1
    return first, last


def _is_neighbour(found: Sequence[Segment], at: int) -> bool:
    """Return whether an item begins behind a segment that is of another item, or a table ends."""
    if found[at].kind in {Kind.ROW, Kind.RULE}:
        return True
    return found[at + 1].begins_item and found[at].is_listed


def _list_around(found: Sequence[Segment], first: int, last: int) -> Span | None:
    """The list or table that some of the segments are of or lead to, with what leads to it."""
    at = next((at for at in range(first, last + 1) if found[at].is_listed), last + 1)
    while at < len(found) and not found[at].is_listed:
        if found[at].begins_block:
            return None
        at += 1
    if at == len(found):
        return None
    begin, end = list_start(found, at), max(at, last)
    while end + 1 < len(found) and goes_on(found, end + 1):
        end += 1
    return found[min(first, _first_leading(found, begin))].start, found[end].end


def _first_leading(found: Sequence[Segment], begin: int) -> int:
    """Return the index of what leads to a list: a sentence with a colon, or a paragraph."""
    if begin == 0 or (found[begin].kind in {Kind.ROW, Kind.RULE} and not found[begin - 1].leads):
        return begin
    at = begin - 1
    while not found[begin - 1].leads and at > 0 and not found[at].begins_block:
        at -= 1
    return at


def _section_around(text: str, answer: Span) -> list[Segment]:
    """The segments between two headings where the answer starts, or that follow it.

    A heading says what is spoken of, not what is said.
    """
    said = [each for each in split_segments(text) if each.kind is not Kind.HEADING]
    reaching = next((each for each in said if each.end > answer[0]), said[-1] if said else None)
    if reaching is None:
        return []
    # Of a section that ends before the answer nothing is taken.
    return [each for each in said if each.section == reaching.section]
