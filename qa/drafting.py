"""Have an answer written, by the fallback if the language model fails."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from corpus.errors import BackendError
from qa.ports import Answerer
from qa.types import Draft, Passage

log = structlog.get_logger(__name__)


def draft_answer(
    question: str, passages: Sequence[Passage], *, answerer: Answerer, fallback: Answerer | None
) -> Draft:
    """Return the answerer's draft, or the fallback's with a note of what went wrong.

    Raises:
        BackendError: The answerer failed and there is no fallback.
    """
    try:
        return answerer.answer(question, passages)
    except BackendError as exc:
        if fallback is None:
            raise
        log.warning("answerer_failed", answerer=answerer.name, reason=str(exc))
        note = f"{answerer.name} failed, {fallback.name} answered: {exc}"
        return replace(fallback.answer(question, passages), note=note)
