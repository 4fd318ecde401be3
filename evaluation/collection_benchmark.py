"""Test a collection with questions made from its own documents, and with some it cannot answer.

The questions are in the documents' words, or in those of their headings: people ask in others, so
the figures flatter.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice, takewhile
from random import Random
from typing import Self

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from corpus.errors import BackendError
from corpus.ingestion.normal_form import Outline
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind, start_job
from corpus.models import Collection, Document, DocumentContent, Job, JobItem
from evaluation.models import CollectionBenchmark
from evaluation.question_rules import Proposal, propose_from_topics
from evaluation.questions import SEED, draw_proposals, propose_by_lm, propose_by_rules
from qa.answer_question import answer_question
from qa.context import QAContext, build_context
from qa.search_passages import search_passages
from qa.types import Passage, Query

ANSWERABLE_COUNT, UNANSWERABLE_COUNT = 20, 10
# Ranks up to which a passage counts as found: shown first, beside it, and given to the answerer.
DEPTHS = (1, 3, 12)
# Made up. A question about a name that no document has cannot be answered from them.
NAMES = (
    "Torvellan", "Quessick", "Harnemoor", "Ostrivane", "Pellowick", "Brandemere", "Vissenholt",
    "Umbrecasse", "Kelverstadt", "Yarrowfenn", "Zimmeral", "Drostanby",
)  # fmt: skip


FLATTERY = (
    "The questions are made from the documents, in their words or those of their headings. People "
    "ask in other words, and less clearly: expect worse. With so few questions, chance alone moves "
    "a figure by up to a fifth."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A question, the statement that answers it, and what pkb found and said.

    Attributes:
        document_id, start_char, end_char: Where the statement stands.
        name: What the question is about and no document has; empty if it can be answered.
        rank: Of the first passage with the statement, from 1; 0 without one.
        said: Empty if nothing was claimed.
        is_right: The statement is quoted; of an unanswerable question, nothing is claimed.
        is_warned: The answer has a notice that no quoted document is about the name.
    """

    question: str
    media_type: str
    statement: str
    document_id: str
    start_char: int
    end_char: int
    name: str = ""
    rank: int = 0
    said: str = ""
    is_right: bool = False
    is_warned: bool = False
    is_asked: bool = False
    cited: tuple[str, ...] = ()

    def ask(self, collection: Collection, *, context: QAContext) -> Self:
        """Search and answer the question; nothing of it is stored.

        Raises:
            BackendError: A model failed.
        """
        name = collection.qualified_name
        query = Query(self.question, collection=name, k=max(DEPTHS))
        found = [] if self.name else search_passages(query, context=context).results
        answer = answer_question(
            self.question,
            collection=name,
            k=settings.PKB_RETRIEVAL_K,
            context=context,
            route="benchmark",
            is_stored=False,
        ).answer
        quoted = any(
            self._is_in(each.passage, each.start_char, each.end_char) for each in answer.citations
        )
        ranks = (
            rank
            for rank, passage in enumerate(found, start=1)
            if self._is_in(passage, passage.start_char, passage.end_char)
        )
        return replace(
            self,
            rank=next(ranks, 0),
            said=answer.text,
            is_right=answer.abstained if self.name else quoted,
            is_warned=bool(answer.not_about),
            is_asked=True,
            cited=tuple({each.passage.document_id for each in answer.citations}),
        )

    def _is_in(self, passage: Passage, start: int, end: int) -> bool:
        is_near = start < self.end_char and self.start_char < end
        return passage.document_id == self.document_id and is_near


def make_trials(
    collection: Collection, *, context: QAContext, should_stop: Callable[[], bool] = lambda: False
) -> list[Trial]:
    """Return the questions, spread over the documents: first those that can be answered.

    If a language model answers, it also writes them; without one, or if it fails, rules do.

    Args:
        should_stop: Called after each question; then those made so far are returned.
    """
    propose = partial(_propose, with_lm=context.uses_language_model)
    proposals = takewhile(lambda _: not should_stop(), draw_proposals(collection, propose=propose))
    drawn = list(islice(proposals, ANSWERABLE_COUNT + UNANSWERABLE_COUNT))
    trials = [_new_trial(*each) for each in drawn[:ANSWERABLE_COUNT]]
    texts = DocumentContent.objects.filter(document__collection=collection)
    absent = (name for name in NAMES if not texts.filter(text__icontains=name).exists())
    others = chain(drawn[ANSWERABLE_COUNT:], drawn)
    for name, each in islice(zip(absent, others, strict=False), UNANSWERABLE_COUNT):
        trial = _new_trial(*each)
        question = f"{trial.question.rstrip('?')} at {name}?"
        trials.append(replace(trial, question=question, name=name))
    return trials


def _propose(document: Document, *, with_lm: bool) -> Iterator[Proposal]:
    if with_lm:
        with suppress(BackendError):
            yield from propose_by_lm(document)
            return
    content = document.content
    headings = Outline.from_json(content.outline).headings
    topics = propose_from_topics(content.text, title=document.name, headings=headings)
    proposals = [*propose_by_rules(document), *topics]
    Random(SEED).shuffle(proposals)  # noqa: S311  (no secret)
    yield from proposals


def _new_trial(document: Document, proposal: Proposal) -> Trial:
    start, end = proposal.start_char, proposal.end_char
    text = document.content.text[start:end]
    return Trial(proposal.text, document.media_type, text, str(document.pk), start, end)


def measure_trials(trials: Iterable[Trial]) -> list[tuple[str, int, int]]:
    """Return label, count and total of each figure of the questions that were asked, in order."""
    asked = [trial for trial in trials if trial.is_asked]
    answerable = [trial for trial in asked if not trial.name]
    unanswerable = [trial for trial in asked if trial.name]
    said = [trial for trial in unanswerable if trial.said]
    right_count = sum(trial.is_right for trial in answerable)
    said_count = sum(bool(trial.said) for trial in answerable)
    places = ("the first passage", *(f"one of the first {depth} passages" for depth in DEPTHS[1:]))
    counts = {
        **{
            f"Search finds the statement in {place}": sum(
                0 < each.rank <= depth for each in answerable
            )
            for place, depth in zip(places, DEPTHS, strict=True)
        },
        "Answer quotes the statement: right": right_count,
        "Answer quotes something else": said_count - right_count,
        "No answer": len(answerable) - said_count,
    }
    refused = {
        "Unanswerable: no answer, which is right": len(unanswerable) - len(said),
        "Unanswerable: answer with a notice": sum(trial.is_warned for trial in said),
        "Unanswerable: answer without a notice": sum(not trial.is_warned for trial in said),
    }
    return [
        (label, count, len(group))
        for group, counted in ((answerable, counts), (unanswerable, refused))
        for label, count in counted.items()
    ]


def read_trials(benchmark: CollectionBenchmark) -> list[Trial]:
    return [Trial(**row) for row in benchmark.questions]


def find_job(collection: Collection) -> Job | None:
    """Return the last job that tests a collection."""
    return Job.objects.filter(kind=Job.Kind.BENCHMARK, collection=collection).first()


@transaction.atomic
def start_benchmark(collection: Collection) -> Job:
    """Queue a job that tests a collection, unless one is unfinished.

    Raises:
        TooManyJobs: The user has too many unfinished jobs.
    """
    CollectionBenchmark.objects.get_or_create(collection=collection)
    # One start at a time.
    CollectionBenchmark.objects.select_for_update().get(collection=collection)
    job = find_job(collection)
    if job is not None and job.is_unfinished:
        return job
    return start_job(Job.Kind.BENCHMARK, collection.pk, {})


class BenchmarkKind(JobKind):
    """An item is a question, by its number in ``CollectionBenchmark.questions``."""

    stage = Job.Stage.ANSWERING

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        trials = make_trials(job.collection, context=build_context(), should_stop=should_stop)
        if should_stop():
            return
        with transaction.atomic():
            here = Document.objects.lock_for_key_share({trial.document_id for trial in trials})
            trials = [trial for trial in trials if trial.document_id in here]
            CollectionBenchmark.objects.update_or_create(
                collection=job.collection,
                defaults={
                    "questions": [asdict(trial) for trial in trials],
                    "documents": sorted(here),
                    "created_at": timezone.now(),
                },
            )
            items = [
                JobItem(job=job, key=str(number), document_id=trial.document_id)
                for number, trial in enumerate(trials)
            ]
            JobItem.objects.bulk_create(items)
            Job.objects.filter(pk=job.pk).update(is_listed=True, total=len(items))

    def run(self, item: JobItem) -> ItemResult:
        collection, number = item.job.collection, int(item.key)
        gone = ItemResult(Outcome.REMOVED, str(item.document_id))
        benchmark = CollectionBenchmark.objects.filter(collection=collection).first()
        # Another job may have made other questions since.
        if benchmark is None or number >= len(benchmark.questions):
            return gone
        trial = read_trials(benchmark)[number]
        trial = trial.ask(collection, context=replace(build_context(), caches_answers=False))
        with transaction.atomic():
            # In the order of deletions: documents first.
            here = Document.objects.lock_for_key_share(trial.cited)
            same = CollectionBenchmark.objects.filter(created_at=benchmark.created_at)
            kept = same.select_for_update().filter(pk=benchmark.pk).first()
            if kept is None or here != set(trial.cited):
                return gone
            kept.questions[number] = asdict(trial)
            kept.documents = sorted({*map(str, kept.documents), *here})
            kept.save(update_fields=["questions", "documents"])
        return ItemResult(Outcome.ANSWERED, str(item.document_id))
