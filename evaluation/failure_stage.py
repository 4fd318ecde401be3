"""The stage at which the right answer to a question was lost."""

from collections.abc import Sequence
from enum import StrEnum

from evaluation.metrics import contains_gold
from qa.types import AnsweredQuestion


class FailureStage(StrEnum):
    """The first stage after which the right answer was missing."""

    NOT_FOUND = "not_found"  # no passage that the answerer was given holds it
    OTHER_PASSAGE = "other_passage"  # one does, and another was chosen
    OTHER_SENTENCE = "other_sentence"  # it stands in the passage chosen, beside what was drafted
    NOT_PROVED = "not_proved"  # it was drafted, and dropped for want of a proof
    REFUSED = "refused_right"  # it was drafted, and not said for want of confidence


def find_failure_stage(answered: AnsweredQuestion, gold: Sequence[str]) -> FailureStage:
    """Return the stage at which an answer without a gold answer lost it."""
    draft, passages = answered.draft, answered.passages
    quotes = [q for each in draft.statements for q in each.quotes] if draft is not None else []
    drafted = " ".join([draft.text if draft else "", *(quote.text for quote in quotes)])
    if contains_gold(drafted, gold):
        return FailureStage.REFUSED if answered.answer.abstained else FailureStage.NOT_PROVED
    if any(contains_gold(quote.passage.text, gold) for quote in quotes):
        return FailureStage.OTHER_SENTENCE
    is_retrieved = any(contains_gold(passage.text, gold) for passage in passages)
    return FailureStage.OTHER_PASSAGE if is_retrieved else FailureStage.NOT_FOUND
