"""Put a question in other words, which its documents may have, by the language model."""

import structlog

from corpus.errors import BackendError
from qa.ports import Expander

log = structlog.get_logger(__name__)


def expand_question(question: str, *, expander: Expander | None, count: int) -> tuple[str, ...]:
    """Return at most ``count`` other phrasings to search for; none if the model fails."""
    if expander is None or count == 0:
        return ()
    try:
        return expander.expand(question, count=count)
    except BackendError as exc:
        log.warning("expanding_failed", reason=str(exc))
        return ()
