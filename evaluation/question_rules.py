"""Generate questions about a text by rules, from its definitions and headings. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corpus.ingestion.normal_form import Heading
from corpus.sentences import sentence_spans

MAX_SUBJECT_WORDS = 6
MIN_QUOTE_CHARS, MAX_QUOTE_CHARS = 30, 400

_MARKUP = re.compile(r"[*_`]+")
# "An embedding is a list of ...", "Embeddings are numbers that ...".
_DEFINITION = re.compile(
    r"\A(?P<subject>(?:(?:An?|The)\s+)?[A-Z\w][\w'/-]*(?:\s+[\w'/-]+){0,5}?)"
    r"(?:,\s+(?:often\s+)?(?:shortened to|written|or|also called)\s+[\w-]+,)?"
    r"\s+(?P<verb>is|are|means|stands for)\s+(?P<rest>.+?)[.!]?",
    re.DOTALL,
)
_INDEFINITE = re.compile(r"an?\s")
# "The main reason", "the second benefit" rank a thing and do not define it.
_DEFINITE = re.compile(r"the\s(?!most|least|main|best|worst|only|first|second|third|same|reason)")
# A subject with one of these words is not a name, or unclear out of context.
_EMPTY_WORDS = frozenset(
    "it this that these those they there he she we you i one each every some such many most both"
    " neither what which who here also only all another other first second third last same and or"
    " but of in on at by for with from to as if when because while than into about between is"
    " are was not its their our your therefore then thus however without purpose following example"
    " idea smaller larger higher lower".split()
)
_OPENERS = frozenset({"a", "an", "the"})
_ASKING = re.compile(r"(?P<word>how to|how|what|which|who|why|when|where)\b", re.IGNORECASE)
_INVERTED = re.compile(
    r"(?:is|are|was|were|does|do|did|can|could|should|must|may|will|large|many|much|often|long)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?<![\w.,])(?:\d[\d,.]*+|two|three|four|five|six|seven|eight|nine|ten|twelve)"
    r"\s(?:(?:business|calendar|full|working)\s)?"
    r"(?P<unit>minutes|hours|days|weeks|months|years|people|members|votes|percent)\b",
    re.IGNORECASE,
)
# Headings that do not say what is below them.
_GENERAL_HEADINGS = frozenset(
    "introduction overview summary background general details notes other description purpose"
    " contents references links appendix examples example usage faq questions about".split()
)
_NUMBERING = re.compile(r"\A[\d.()]++\s+")
MAX_HEADING_WORDS = 8
# "How long to keep old versions".
_EXTENT = re.compile(r"(?P<extent>long|often|much|far)\s+to\s+(?P<act>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question with the span of the text that answers it.

    Attributes:
        answers: Gold answers; empty if only the span is known.
    """

    text: str
    answers: tuple[str, ...]
    start_char: int
    end_char: int


def propose_from_rules(text: str, *, headings: Sequence[Heading]) -> list[Proposal]:
    """Return distinct questions about a text, in the order of their answers."""
    distinct: dict[str, Proposal] = {}
    proposals = [*_from_definitions(text, headings), *_from_headings(text, headings)]
    for proposal in sorted(proposals, key=lambda proposal: proposal.start_char):
        distinct.setdefault(proposal.text.lower(), proposal)
    return list(distinct.values())


def _from_definitions(text: str, headings: Sequence[Heading]) -> Iterator[Proposal]:
    for start, end in _prose(text, headings):
        plain = " ".join(_MARKUP.sub("", text[start:end]).split())
        match = _DEFINITION.fullmatch(plain)
        if match is None or not _is_name(match["subject"]):
            continue
        question = _ask_for(match["subject"], match["verb"], match["rest"])
        if question:
            yield Proposal(
                question, (match["rest"].rstrip(".!").removeprefix("that "),), start, end
            )


def _prose(text: str, headings: Sequence[Heading]) -> Iterator[tuple[int, int]]:
    """Yield the spans of quotable sentences: no headings, items, rows or code."""
    titles = [(heading.start, heading.end) for heading in headings]
    for start, end in sentence_spans(text):
        inside = any(first < end and start < last for first, last in titles)
        opener = text[start]
        if inside or opener in "#|-+>`" or text.startswith(("* ", "```"), start):
            continue
        if MIN_QUOTE_CHARS <= end - start <= MAX_QUOTE_CHARS:
            yield start, end


def _is_name(subject: str) -> bool:
    words = subject.lower().split()
    named = words[1:] if words[0] in _OPENERS else words
    return 0 < len(named) <= MAX_SUBJECT_WORDS and not _EMPTY_WORDS & set(named)


def _ask_for(subject: str, verb: str, rest: str) -> str:
    """Return the question, or "" if the sentence defines nothing."""
    first, *others = subject.split()
    is_name = first[1:] != first[1:].lower() or any(word[0].isupper() for word in others)
    if first.lower() in _OPENERS or not is_name:
        first = first.lower()
    named = " ".join((first, *others))
    if verb == "stands for":
        return f"What does {named} stand for?"
    if verb == "means":
        return f"What does {named} mean?"
    if not _INDEFINITE.match(rest) and not _DEFINITE.match(rest):
        return ""
    return f"What {verb} {named}?"


def _from_headings(text: str, headings: Sequence[Heading]) -> Iterator[Proposal]:
    """Turn headings that imply a question into one; the first sentence answers it."""
    spans = list(_prose(text, headings))
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    for heading, until in zip(headings, ends, strict=False):  # without headings, no section
        question = _as_question(" ".join(_MARKUP.sub("", heading.text).split()))
        inside = [span for span in spans if heading.end <= span[0] < until]
        if question and inside:
            yield Proposal(question, (), *inside[0])


def propose_from_topics(text: str, *, title: str, headings: Sequence[Heading]) -> list[Proposal]:
    """Return a question for each section, in the words of its heading and not of its text.

    It asks for the first amount if there is one; else any sentence of the section answers it.
    """
    spans = list(_prose(text, headings))
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    proposals = []
    for heading, until in zip(headings, ends, strict=False):
        plain = " ".join(_MARKUP.sub("", heading.text).split())
        topic = _NUMBERING.sub("", plain).rstrip(" :")
        inside = [span for span in spans if heading.end <= span[0] < until]
        is_clear = (
            len(topic.split()) <= MAX_HEADING_WORDS
            and any(word.isalpha() for word in topic.split())
            and topic.lower() not in {*_GENERAL_HEADINGS, title.lower()}
            and not (topic.endswith("?") or _as_question(topic))
        )
        if not is_clear or not inside:
            continue
        amounts = ((span, _AMOUNT.search(text, *span)) for span in inside)
        span, amount = next((each for each in amounts if each[1]), (None, None))
        if span and amount:
            question = f"{topic} in {title}: how many {amount['unit'].lower()}?"
            proposals.append(Proposal(question, (amount[0],), *span))
        else:
            question = f"What does {title} say about {topic}?"
            proposals.append(Proposal(question, (), inside[0][0], inside[-1][1]))
    return proposals


def _as_question(heading: str) -> str:
    """Return ``How to detect skew`` as a question; "" for other headings."""
    match = _ASKING.match(heading)
    rest = heading[match.end() :].strip(" ?") if match else ""
    if match is None or not rest:
        return ""
    word = match["word"].capitalize()
    extent = _EXTENT.fullmatch(rest)
    if word == "How to":
        return f"How can one {rest}?"
    if extent:
        return f"{word} {extent['extent']} should one {extent['act']}?"
    return f"{word} {rest}?" if _INVERTED.match(rest) or heading.endswith("?") else ""
