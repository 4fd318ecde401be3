"""Dependencies of a graph run, and their construction from settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol, TypeVar, runtime_checkable

from django.conf import settings

from corpus.backends import BackendRegistry, LoadableModel
from corpus.errors import InvalidInput
from qa.concurrency import Listener, run_with_progress
from qa.grounding.citations import CitationVerifier
from qa.grounding.confidence import Calibration, read_calibration, read_draft_calibration
from qa.grounding.drafts import Checked, Claim
from qa.readers import Reader, get_reader
from qa.search.hybrid import RetrievedPassages, Retriever, default_retriever
from qa.search.ranking import PassageReranker, rerank_passages
from qa.search.rerankers import Reranker, rerankers
from qa.types import Draft, Exchange, OnDraft, Passage, Query, ignore_draft

Result = TypeVar("Result")

EXTRACTIVE = "extractive"
# The answerer that PKB_LM configures.
LANGUAGE_MODEL = "default"


class Answerer(LoadableModel, Protocol):
    """Drafts an answer from passages.

    Attributes:
        reads_neighbors: It also receives the text before and after the best passages.
    """

    reads_neighbors: bool

    def answer(
        self, query: Query, passages: Sequence[Passage], *, on_draft: OnDraft = ignore_draft
    ) -> Draft:
        """Draft an answer from the passages; no statements if they contain none.

        Args:
            on_draft: Called while it writes, in its thread, with finished statements; each draft
                extends the one before, or starts over.

        Raises:
            BackendError: The language model failed.
        """
        ...


@runtime_checkable
class StatementChecker(Protocol):
    """Checks whether evidence supports statements."""

    def check(self, question: str, claims: Sequence[Claim]) -> Checked:
        """Return a verdict for each claim: supported, unsupported or irrelevant.

        Raises:
            BackendError: The language model failed, or its output cannot be read.
        """
        ...


@runtime_checkable
class Rewriter(Protocol):
    """Completes follow-up questions."""

    def rewrite(self, question: str, history: Sequence[Exchange]) -> str:
        """Return the question completed from its history; unchanged if it needs nothing.

        Raises:
            BackendError: The language model failed.
        """
        ...


@runtime_checkable
class AcceptsKey(Protocol):
    """An answerer that calls its language model with a key."""

    def with_key(self, api_key: str) -> Answerer:
        """Return an answerer for the same model that uses this key."""
        ...


@dataclass(frozen=True, slots=True)
class QAContext:
    """The dependencies of one run.

    Attributes:
        reader: Decides whether passages answer, and where.
        fallback: Answers if the answerer fails; None if the answerer is the fallback itself.
        verifier: Turns drafts into answers.
        rerank_count: Passages that the reranker judges.
        rerank_weight: The reranker's weight in a passage's score, in [0, 1]; the rest is the fused
            score.
        per_document: Most passages of one document before those of others.
        rewriter: Completes follow-up questions; None uses rules.
        caches_answers: Answers may be cached.
    """

    retriever: Retriever
    reranker: Reranker
    reader: Reader
    verifier: CitationVerifier
    answerer: Answerer
    fallback: Answerer | None
    rerank_count: int
    rerank_weight: float
    per_document: int
    rewriter: Rewriter | None = None
    caches_answers: bool = False
    listener: Listener = field(default_factory=Listener)

    @property
    def cache_key_parts(self) -> tuple[object, ...]:
        """Return the dependencies that determine an answer, for the cache key."""
        aside = {"caches_answers", "listener"}
        return tuple(getattr(self, each.name) for each in fields(self) if each.name not in aside)

    def run_cancellable(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``; abandon a language model's work when cancelled.

        Raises:
            ClientDisconnected: By the listener.
        """
        return self.run_with_progress(lambda on_draft: work(), on_draft=lambda draft: None)

    def run_with_progress(self, write: Callable[[OnDraft], Result], *, on_draft: OnDraft) -> Result:
        """Return the result of ``write``; pass its drafts to ``on_draft`` in this thread.

        Raises:
            ClientDisconnected: By the listener.
            BackendError: By ``on_draft``.
        """
        return run_with_progress(
            write, on_progress=on_draft, listener=self.listener, is_slow=self.uses_language_model
        )

    @property
    def uses_language_model(self) -> bool:
        """True if a language model answers, in seconds and in its own words."""
        return self.answerer.name != EXTRACTIVE

    def retrieve(
        self, query: Query, *, limit: int, mode: str = "hybrid", rerank: bool = True
    ) -> RetrievedPassages:
        """Return at most ``limit`` passages, best first.

        Args:
            rerank: The passages will be reranked: let the reranker prepare meanwhile.

        Raises:
            CollectionNotFound: There is no collection of this name.
            BackendError: A model failed.
        """
        if rerank and isinstance(self.reranker, PassageReranker):
            self.reranker.prepare(query.text)
        return self.retriever.retrieve(query, limit=limit, mode=mode)

    def rerank(self, text: str, passages: Sequence[Passage], *, limit: int) -> list[Passage]:
        """Return the best passages for the text, at most ``limit``, best first.

        Raises:
            BackendError: The reranker failed.
        """
        if not passages:
            return []
        return rerank_passages(
            text,
            passages,
            reranker=self.reranker,
            weight=self.rerank_weight,
            count=self.rerank_count,
            per_document=self.per_document,
            limit=limit,
        )


# Created on first use, once per process.
answerers: BackendRegistry[Answerer] = BackendRegistry("PKB_ANSWERERS")


def get_answerer(name: str) -> Answerer:
    """Return the answerer with that name; the language model's is ``default``.

    Raises:
        InvalidInput: No such answerer is configured.
    """
    if name not in answerers:
        raise InvalidInput(f"Unknown lm {name!r}. Available: {', '.join(answerers.names)}.")
    return answerers[name]


def default_answerer_name() -> str:
    return LANGUAGE_MODEL if LANGUAGE_MODEL in answerers else EXTRACTIVE


def build_context(
    *, lm: str = "", api_key: str = "", calibration: Calibration | None = None
) -> QAContext:
    """Build the context from the settings.

    Args:
        lm: Name of a configured answerer; empty for the default one.
        api_key: For the language model, in place of the configured key. A request with its own key
            has no fallback.
        calibration: In place of the configured one.

    Raises:
        InvalidInput: ``lm`` names no configured answerer.
    """
    name, reader = lm or default_answerer_name(), get_reader()
    answerer = get_answerer(name)
    is_keyed = bool(api_key) and isinstance(answerer, AcceptsKey)
    if api_key and isinstance(answerer, AcceptsKey):
        answerer = answerer.with_key(api_key)
    return QAContext(
        retriever=default_retriever(),
        reranker=rerankers[settings.PKB_RERANKER_MODEL],
        reader=reader,
        verifier=CitationVerifier(
            judge=rerankers[settings.PKB_JUDGE_MODEL],
            calibration=calibration or read_calibration(settings.PKB_CALIBRATION, reader.name),
            draft_calibration=calibration
            or read_draft_calibration(settings.PKB_CALIBRATION, reader.name, answerer.name),
            answer_from=settings.PKB_ANSWER_FROM,
            draft_answer_from=settings.PKB_LM_ANSWER_FROM,
            abstain_below=settings.PKB_ABSTAIN_BELOW,
        ),
        answerer=answerer,
        fallback=None if name == EXTRACTIVE or is_keyed else get_answerer(EXTRACTIVE),
        rerank_count=settings.PKB_RERANK_COUNT,
        rerank_weight=settings.PKB_RERANK_WEIGHT,
        per_document=settings.PKB_PASSAGES_PER_DOCUMENT,
        rewriter=answerer if isinstance(answerer, Rewriter) else None,
        # The key is the caller's alone and must not stay in memory.
        caches_answers=not is_keyed,
    )
