"""What a graph run needs from outside, and how it is built from settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol, TypeVar, cast, runtime_checkable

from django.conf import settings

from corpus.backends import BackendRegistry, LoadableModel
from corpus.errors import InvalidInput
from qa.concurrency import Listener, NullListener, run_cancellable, run_with_progress
from qa.grounding.citations import CitationVerifier
from qa.grounding.confidence import Calibration, read_calibration, read_draft_calibration
from qa.grounding.drafts import Checked, Claim
from qa.readers import Reader, get_reader
from qa.search.hybrid import RetrievedPassages, Retriever, default_retriever
from qa.search.ranking import PassageReranker, rerank_passages
from qa.search.rerankers import Reranker, get_judge, get_reranker
from qa.types import Draft, Exchange, OnDraft, Passage, Query, ignore_draft

# Built when first asked for, once a process.
answerers = BackendRegistry("PKB_ANSWERERS")

Result = TypeVar("Result")

EXTRACTIVE = "extractive"
# The answerer that PKB_LM configures.
LANGUAGE_MODEL = "default"


class Answerer(LoadableModel, Protocol):
    """Drafts an answer from passages.

    Attributes:
        reads_neighbors: It is given what stands before and behind the best passages, too.
    """

    reads_neighbors: bool

    def answer(
        self, query: Query, passages: Sequence[Passage], *, on_draft: OnDraft = ignore_draft
    ) -> Draft:
        """Answer from the passages alone; without statements where they do not hold it.

        Args:
            on_draft: Called while it writes, in the thread that it writes in, with the statements
                that are finished; each draft goes on as the one before, or begins anew.

        Raises:
            BackendError: The language model failed.
        """
        ...


@runtime_checkable
class StatementChecker(Protocol):
    """Says whether texts hold up statements."""

    def check(self, question: str, claims: Sequence[Claim]) -> Checked:
        """Return of each claim whether its evidence says it, and it helps with the question.

        Raises:
            BackendError: The language model failed, or its output cannot be read.
        """
        ...


@runtime_checkable
class Rewriter(Protocol):
    """Makes a follow-up question stand on its own."""

    def rewrite(self, question: str, history: Sequence[Exchange]) -> str:
        """Return the question with what it refers to; unchanged where it needs nothing.

        Raises:
            BackendError: The language model failed.
        """
        ...


@runtime_checkable
class Expander(Protocol):
    """Puts a question in other words."""

    def expand(self, question: str, *, count: int) -> tuple[str, ...]:
        """Return at most ``count`` other phrasings, each of one line; none where it has none.

        Raises:
            BackendError: The language model failed.
        """
        ...


@runtime_checkable
class AcceptsKey(Protocol):
    """An answerer that reaches its language model by a key."""

    def with_key(self, api_key: str) -> Answerer:
        """Return one of the same model that uses this key."""
        ...


@dataclass(frozen=True, slots=True)
class QAContext:
    """The parts of one run.

    Attributes:
        reader: Tells whether passages answer, and where.
        fallback: Answers when the answerer fails; None where it is the fallback itself.
        verifier: Turns drafts into answers.
        rerank_count: Passages that the reranker judges.
        rerank_weight: Its share in a passage's score, in [0, 1]; the rest is the fused score.
        per_document: Passages of one document before those of others come.
        rewriter: Rewrites follow-up questions; without one it is done by rule.
        expander: Puts questions in other words, to search for these too.
        expansion_count: The most phrasings it is asked for; 0 means that it is not asked.
        caches_answers: Answers by these parts may be kept, and given again.
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
    expander: Expander | None = None
    expansion_count: int = 0
    caches_answers: bool = False
    listener: Listener = field(default_factory=NullListener)

    @property
    def cache_key_parts(self) -> tuple[object, ...]:
        """All that decides an answer; equal where each part is the same or says the same."""
        aside = {"caches_answers", "listener"}
        return tuple(getattr(self, each.name) for each in fields(self) if each.name not in aside)

    def run_cancellable(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns; a language model's is left when nobody waits any more.

        Raises:
            ClientDisconnected: By the listener.
        """
        return run_cancellable(work, listener=self.listener, is_slow=self.uses_language_model)

    def run_with_progress(self, write: Callable[[OnDraft], Result], *, on_draft: OnDraft) -> Result:
        """Return what ``write`` returns, and meanwhile hear how far it is, in this thread.

        Raises:
            ClientDisconnected: By the listener.
            BackendError: By ``on_draft``.
        """
        return run_with_progress(
            write, on_progress=on_draft, listener=self.listener, is_slow=self.uses_language_model
        )

    @property
    def uses_language_model(self) -> bool:
        """True if a language model answers: it takes seconds, and uses its own words."""
        return self.answerer.name != EXTRACTIVE

    def retrieve(
        self, query: Query, *, limit: int, mode: str = "hybrid", rerank: bool = True
    ) -> RetrievedPassages:
        """Return at most ``limit`` passages, best first.

        Args:
            rerank: They are going to be reranked: the reranker makes ready meanwhile.

        Raises:
            CollectionNotFound: There is no such collection.
            BackendError: A model failed.
        """
        if rerank and isinstance(self.reranker, PassageReranker):
            self.reranker.expect(query.text)
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


def get_answerer(name: str) -> Answerer:
    """Return the answerer of that name; the language model's is ``default``.

    Raises:
        InvalidInput: None of that name is configured.
    """
    if name not in answerers:
        raise InvalidInput(f"Unknown lm {name!r}; there are {', '.join(answerers.names)}.")
    return cast("Answerer", answerers[name])


def default_answerer_name() -> str:
    return LANGUAGE_MODEL if LANGUAGE_MODEL in answerers else EXTRACTIVE


def build_context(
    *, lm: str = "", api_key: str = "", calibration: Calibration | None = None
) -> QAContext:
    """Put the configured parts together.

    Args:
        lm: Name of a configured answerer; empty for the default one.
        api_key: For the language model, in place of the configured key. Who brings a key wants
            that model: nothing stands in for it if it fails.
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
        reranker=get_reranker(),
        reader=reader,
        verifier=CitationVerifier(
            judge=get_judge(),
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
        expander=answerer if isinstance(answerer, Expander) else None,
        expansion_count=settings.PKB_QUERY_EXPANSIONS,
        # Nobody else has this key, and it stays in no memory.
        caches_answers=not is_keyed,
    )
