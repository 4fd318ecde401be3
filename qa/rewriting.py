"""Make a question of a conversation stand on its own: by the language model, else by rule."""

from collections.abc import Sequence

import structlog

from corpus.errors import BackendError
from qa.follow_ups import complete_follow_up
from qa.ports import Rewriter
from qa.types import Exchange

log = structlog.get_logger(__name__)


def rewrite_question(
    question: str, history: Sequence[Exchange], *, rewriter: Rewriter | None
) -> str:
    """Return what to search for; a question without a history stays as it is."""
    if not history:
        return question
    if rewriter is not None:
        try:
            return rewriter.rewrite(question, history)
        except BackendError as exc:
            log.warning("rewriting_failed", reason=str(exc))
    return complete_follow_up(question, history)
