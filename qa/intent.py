"""Classify a question once, by its words. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from qa.asked.comparisons import split_comparison
from qa.asked.mentions import find_topic_sought
from qa.questions import asks_for_all, asks_for_several, find_named, is_greeting, split_question


class IntentKind(StrEnum):
    """The ways in which a question is answered."""

    QUESTION = "question"  # from the passages that answer it
    PARTS = "parts"  # each of its questions by itself
    COMPARISON = "comparison"  # from one place that speaks of all sides, else each side by itself
    SUMMARY = "summary"  # of a document: the outline of it
    OVERVIEW = "overview"  # of all documents: their beginnings
    MENTIONS = "mentions"  # the documents that speak of something
    GREETING = "greeting"  # nothing is asked


@dataclass(frozen=True, slots=True)
class Intent:
    """The kind of answer that a question asks for.

    Attributes:
        text: What is searched for.
        names: What is compared, or what the document is called that is to be summed up.
        parts: The questions that are asked one by one, where there are several.
        wants_list: It asks for several things, which a list or table may give.
    """

    kind: IntentKind
    text: str
    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    wants_list: bool = False


def classify(question: str) -> Intent:
    """Return the intent of a question that stands on its own."""
    if is_greeting(question):
        return Intent(IntentKind.GREETING, question)
    if topic := find_topic_sought(question):
        return Intent(IntentKind.MENTIONS, topic)
    if asks_for_all(question):
        return Intent(IntentKind.OVERVIEW, question)
    if name := find_named(question):
        return Intent(IntentKind.SUMMARY, question, names=(name,))
    wants_list = asks_for_several(question)
    if parts := split_question(question):
        return Intent(IntentKind.PARTS, question, parts=parts, wants_list=wants_list)
    if sides := split_comparison(question):
        return Intent(
            IntentKind.COMPARISON,
            question,
            names=tuple(side.name for side in sides),
            parts=tuple(side.question for side in sides),
            wants_list=wants_list,
        )
    return Intent(IntentKind.QUESTION, question, wants_list=wants_list)
