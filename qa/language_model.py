"""Call the language model for a question, with fallbacks if it fails."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import structlog

from corpus.errors import BackendError
from qa.context import QAContext, Rewriter, StatementChecker
from qa.grounding.drafts import Checked, Claim, StreamingVerifier
from qa.intent import complete_follow_up
from qa.readers import read_all
from qa.search.neighbors import with_neighbors
from qa.types import Answer, Draft, Exchange, OnDraft, Passage, Query, VerifiedStatement

log = structlog.get_logger(__name__)


class VerifiedDraft(NamedTuple):
    """A draft with the result of its verification.

    Attributes:
        verified: The answer; None for an extract, which is verified later, and if nothing of a
            model's draft holds.
        cited: The passages that a model cited, with readings.
        statements: The outcome of each statement of a model.
        rejected: A model's draft that an extract replaced.
    """

    draft: Draft
    verified: Answer | None = None
    cited: tuple[Passage, ...] = ()
    statements: tuple[VerifiedStatement, ...] = ()
    rejected: Draft | None = None

    @property
    def written(self) -> Draft:
        """The draft of the requested answerer, if there is one."""
        return self.rejected or self.draft


def draft_and_verify(
    query: Query, passages: Sequence[Passage], context: QAContext
) -> VerifiedDraft:
    """Draft an answer; verify a language model's draft while it is being written.

    The extractive answerer replaces a language model that failed, or that cannot tell true control
    statements from false ones. Text sent before the failure stays.

    Raises:
        ClientDisconnected: By the listener.
        BackendError: The model failed and there is no fallback.
    """
    answerer, fallback = context.answerer, context.fallback
    if not context.uses_language_model:
        return VerifiedDraft(answerer.answer(query, passages))
    sections, chunks = list(passages), list(passages)
    if answerer.reads_neighbors:
        sections, chunks = with_neighbors(passages)
    verifier = StreamingVerifier(
        context.verifier,
        query.text,
        chunks,
        on_text=context.listener.on_text,
        read=partial(read_all, query.text, reader=context.reader),
        check=partial(_check, context=context),
    )
    latest = Draft((), answerer.name)

    def verify(draft: Draft) -> None:
        nonlocal latest
        latest = draft
        verifier.verify(draft)

    def write(on_draft: OnDraft) -> Draft:
        return answerer.answer(query, sections, on_draft=on_draft)

    try:
        drafted = _finish(context.run_with_progress(write, on_draft=verify), verifier)
    except BackendError as exc:
        if fallback is None:
            raise
        log.warning("answerer_failed", answerer=answerer.name, reason=str(exc))
        if verifier.text.is_started:
            note = f"{answerer.name} broke off: {exc}"
            return _finish(replace(latest, note=note, is_fallback=True), verifier)
        note = f"{answerer.name} failed, {fallback.name} answered: {exc}"
        return VerifiedDraft(replace(fallback.answer(query, passages), note=note, is_fallback=True))
    if fallback is None:
        return drafted
    extract = fallback.answer(query, passages)
    if not drafted.draft.statements:
        # If the extract is unsure, too, accepting the refusal loses no answer.
        is_sure = context.verifier.is_sure(extract, passages)
        if not is_sure or verifier.accepts_refusal(extract):
            return drafted
    if not verifier.is_untrusted:
        return drafted
    note = f"{answerer.name} takes false statements for true, {fallback.name} answered."
    extract = replace(extract, note=note, is_fallback=True)
    return VerifiedDraft(extract, statements=tuple(verifier.outcomes), rejected=drafted.draft)


def _finish(draft: Draft, verifier: StreamingVerifier) -> VerifiedDraft:
    verified = verifier.finish(draft)
    draft = replace(
        draft,
        prompt_tokens=draft.prompt_tokens + verifier.prompt_tokens,
        completion_tokens=draft.completion_tokens + verifier.completion_tokens,
    )
    return VerifiedDraft(draft, verified, verifier.cited, tuple(verifier.outcomes))


def _check(question: str, claims: Sequence[Claim], *, context: QAContext) -> Checked | None:
    """Let the model check its statements; return None if it cannot."""
    if not isinstance(context.answerer, StatementChecker):
        return None
    try:
        return context.run_cancellable(partial(context.answerer.check, question, claims))
    except BackendError as exc:
        log.warning("checking_failed", answerer=context.answerer.name, reason=str(exc))
        return None


def rewrite_question(
    question: str, history: Sequence[Exchange], *, rewriter: Rewriter | None
) -> str:
    """Return the search text: the question, completed from its history."""
    if not history:
        return question
    if rewriter is not None:
        try:
            return rewriter.rewrite(question, history)
        except BackendError as exc:
            log.warning("rewriting_failed", reason=str(exc))
    return complete_follow_up(question, history)
