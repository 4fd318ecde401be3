"""What holds for every answerer with a language model."""

import dspy

from qa.answerers.dspy_program import LMAnswerer
from qa.types import Draft
from tests.contracts.chat_server import PASSAGES, QUESTION


class AnswererContract:
    """Any answerer; a subclass gives the fixture ``answerer``, which must know of the tower."""

    def test_draft_keeps_to_what_was_given(self, answerer: LMAnswerer) -> None:
        draft = answerer.answer(QUESTION, PASSAGES)
        assert draft.text
        assert set(draft.cited) <= {"S1", "S2", "S3"}
        assert draft.prompt_tokens > draft.completion_tokens > 0
        assert draft.answerer == answerer.name

    def test_no_passages_make_an_empty_draft(self, answerer: LMAnswerer) -> None:
        assert answerer.answer(QUESTION, []) == Draft("", (), answerer.name)

    def test_one_passage_is_enough(self, answerer: LMAnswerer) -> None:
        assert set(answerer.answer(QUESTION, PASSAGES[:1]).cited) <= {"S1"}

    def test_nothing_is_kept_in_dspy(self, answerer: LMAnswerer) -> None:
        answerer.answer(QUESTION, PASSAGES)
        assert dspy.settings.trace == []
        assert dspy.clients.base_lm.GLOBAL_HISTORY == []

    def test_dspy_stays_unconfigured(self, answerer: LMAnswerer) -> None:
        answerer.answer(QUESTION, PASSAGES)
        assert dspy.settings.lm is None
        assert dspy.settings.adapter is None
