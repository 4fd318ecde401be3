"""Ask the language model first, where there is one; where it fails, do without it."""

from collections.abc import Sequence
from dataclasses import replace

import structlog

from corpus.errors import BackendError
from qa.context import Answerer, Expander, QAContext, Rewriter
from qa.proof.unfinished import UnfinishedAnswer
from qa.questions import complete_follow_up
from qa.types import Answer, Draft, Exchange, Hear, Passage

log = structlog.get_logger(__name__)


def draft_answer(
    hear: Hear,
    *,
    question: str,
    passages: Sequence[Passage],
    answerer: Answerer,
    fallback: Answerer | None,
) -> Draft:
    """Return the answerer's draft, or the fallback's with a note of what went wrong.

    Args:
        hear: Takes the answerer's draft while it is written.

    Raises:
        BackendError: The answerer failed and there is no fallback.
    """
    try:
        return answerer.answer(question, passages, hear=hear)
    except BackendError as exc:
        if fallback is None:
            raise
        log.warning("answerer_failed", answerer=answerer.name, reason=str(exc))
        note = f"{answerer.name} failed, {fallback.name} answered: {exc}"
        return replace(fallback.answer(question, passages), note=note)


def prove_draft(draft: Draft, unfinished: UnfinishedAnswer, *, context: QAContext) -> Answer:
    """Return what is proved of the draft; of the fallback's, where nothing of it may be said.

    A language model is never less than the documents' own words.

    Args:
        unfinished: The answer, with what was proved of the draft while it was written.
    """
    prover, fallback = context.prover, context.fallback
    proved = prover.finish(unfinished, draft)
    drafted = proved.drafted
    if proved.abstained and fallback is not None and draft.answerer != fallback.name:
        note = f"{draft.answerer} wrote nothing that could be said, {fallback.name} answered."
        draft = replace(fallback.answer(unfinished.question, unfinished.passages), note=note)
        proved = prover.finish(unfinished, draft)
    return replace(proved, answerer=draft.answerer, fallback=draft.note, drafted=drafted)


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


def expand_question(question: str, *, expander: Expander | None, count: int) -> tuple[str, ...]:
    """Return at most ``count`` other phrasings to search for; none if the model fails."""
    if expander is None or count == 0:
        return ()
    try:
        return expander.expand(question, count=count)
    except BackendError as exc:
        log.warning("expanding_failed", reason=str(exc))
        return ()
