"""What holds for every answerer with a language model."""

import dspy

from qa.answerers.lm_answerer import LMAnswerer
from qa.grounding.drafts import Claim
from qa.types import Draft
from tests.support.chat_server import PASSAGES, QUERY, QUESTION, TALL


class AnswererContract:
    """Any answerer; a subclass gives the fixture ``answerer``, which must know of the tower."""

    def test_draft_keeps_to_what_was_given(self, answerer: LMAnswerer) -> None:
        draft = answerer.answer(QUERY, PASSAGES)
        assert draft.text
        quotes = [quote for statement in draft.statements for quote in statement.quotes]
        assert all(quote.passage in PASSAGES for quote in quotes)
        assert all(quote.text and quote.text in quote.passage.text for quote in quotes)
        assert draft.prompt_tokens > draft.completion_tokens > 0
        assert draft.answerer == answerer.name

    def test_no_passages_make_an_empty_draft(self, answerer: LMAnswerer) -> None:
        assert answerer.answer(QUERY, []) == Draft((), answerer.name)

    def test_one_passage_is_enough(self, answerer: LMAnswerer) -> None:
        draft = answerer.answer(QUERY, PASSAGES[:1])
        quotes = [quote for statement in draft.statements for quote in statement.quotes]
        assert {quote.passage.text for quote in quotes} <= {PASSAGES[0].text}

    def test_checking_gives_a_verdict_on_each_claim(self, answerer: LMAnswerer) -> None:
        claims = [Claim(TALL, PASSAGES[0].text), Claim("The tower is red.", PASSAGES[1].text)]
        checked = answerer.check(QUESTION, claims)
        assert len(checked.verdicts) == 2
        assert checked.prompt_tokens > checked.completion_tokens > 0

    def test_nothing_is_kept_or_configured_in_dspy(self, answerer: LMAnswerer) -> None:
        answerer.answer(QUERY, PASSAGES)
        assert dspy.settings.trace == []
        assert dspy.clients.base_lm.GLOBAL_HISTORY == []
        assert dspy.settings.lm is None
        assert dspy.settings.adapter is None
