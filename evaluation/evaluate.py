"""Evaluate one configuration on a data set, or on accepted questions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from django.conf import settings
from django.utils import timezone

from corpus.errors import InvalidDataSet
from corpus.models import DEFAULT_COLLECTION, Collection
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.figures import count_by_kind, measure_all, measure_thresholds, measure_timings
from evaluation.index import IndexedDataset, index_dataset
from evaluation.results import ANSWERS, CLAIMS, FOREIGN, RETRIEVAL, Observation, Result
from evaluation.runs import pair_claims, run_claims, run_queries, run_questions
from qa.configuration_hash import DECIDING_SETTINGS
from qa.context import build_context, default_answerer_name

# Settings stored with each result, by environment name: chunking and answering.
SHOWN_SETTINGS = {
    "EMBEDDING_MODEL": "PKB_EMBEDDING_MODEL",
    **DECIDING_SETTINGS,
    "CHUNK_SIZE": "PKB_CHUNK_SIZE",
    "CHUNK_OVERLAP": "PKB_CHUNK_OVERLAP",
    "CHUNK_OVERLAP_SENTENCES": "PKB_CHUNK_OVERLAP_SENTENCES",
}

# Settings with such names may be compared, but are not stored.
SECRET = re.compile(r"KEY|PASSWORD|SECRET|DATABASE_URL")

Report = Callable[[str, int, int], None]
"""Told a stage's name, how much of it is done, and of how much."""


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Options of an evaluation.

    Attributes:
        k: Passages for an answer, and the depth of recall@k.
        modes: Of ``retrieval``, ``answers`` and ``claims``; none means all that the data set
        allows.
        fresh: Ingest the data set's documents again.
        changes: Changed settings by environment name, stored only.
        foreign: Questions of another data set, unanswerable here.
    """

    k: int
    modes: tuple[str, ...] = ()
    fresh: bool = False
    changes: Mapping[str, str] = field(default_factory=dict)
    foreign: tuple[GoldQuestion, ...] = ()


def evaluate_dataset(
    dataset: DataSet, *, plan: EvaluationPlan, report: Report = ignore_progress
) -> Result:
    """Ingest the documents, ask and measure, with the active settings.

    Args:
        report: Callback for the progress of each stage.

    Raises:
        InvalidDataSet: It contains nothing that the modes measure.
        PkbError: A model failed, or a document cannot be ingested.
    """
    modes = choose_modes(dataset, plan.modes)
    # Claims contain their evidence, so nothing is ingested.
    if set(modes) == {CLAIMS}:
        indexed = IndexedDataset(Collection.objects.get_named(DEFAULT_COLLECTION), {})
    else:
        indexed = index_dataset(dataset, fresh=plan.fresh, progress=partial(report, "documents"))
    notes = []
    if indexed.missing_count:
        notes.append(f"{indexed.missing_count} documents hold no text.")
    return _evaluate(dataset, indexed, modes=modes, plan=plan, report=report, notes=notes)


def evaluate_collection(
    dataset: DataSet,
    collection: Collection,
    *,
    plan: EvaluationPlan,
    notes: Sequence[str],
    report: Report,
) -> Result:
    """Evaluate an existing collection; gold ids are its document ids.

    Raises:
        InvalidDataSet: There are no questions.
        PkbError: A model failed.
    """
    modes = choose_modes(dataset, plan.modes)
    ids = {key: (key,) for question in dataset.questions for key in question.doc_ids}
    # All documents, so that a wrongly retrieved one has a name too.
    stored = collection.documents.values_list("pk", flat=True)
    ids |= {str(pk): (str(pk),) for pk in stored}
    indexed = IndexedDataset(collection, ids)
    return _evaluate(dataset, indexed, modes=modes, plan=plan, report=report, notes=notes)


def choose_modes(dataset: DataSet, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the requested modes, by default all that the data set allows.

    Raises:
        InvalidDataSet: It lacks the data of a requested mode, or of all.
    """
    has_corpus = bool(dataset.documents) or dataset.name.startswith("collection-")
    possible = {
        RETRIEVAL: bool(has_corpus and dataset.queries),
        ANSWERS: bool(has_corpus and dataset.questions),
        CLAIMS: bool(pair_claims(dataset.claims, dataset.documents)),
    }
    lacking = [mode for mode in wanted if not possible[mode]]
    if lacking:
        raise InvalidDataSet(f"{dataset.name} has nothing to measure {lacking[0]} with.")
    chosen = tuple(mode for mode, there_is in possible.items() if there_is)
    if not chosen:
        raise InvalidDataSet(
            f"{dataset.name} has no corpus with queries or questions to ask it, and no claims with "
            "evidence."
        )
    return tuple(wanted) or chosen


def _evaluate(
    dataset: DataSet,
    indexed: IndexedDataset,
    *,
    modes: Sequence[str],
    plan: EvaluationPlan,
    report: Report,
    notes: Sequence[str],
) -> Result:
    context = replace(build_context(), caches_answers=False)
    observations: dict[str, dict[str, Observation]] = {}
    if RETRIEVAL in modes:
        observations[RETRIEVAL] = run_queries(
            dataset.queries,
            collection=indexed.collection,
            ids=indexed.ids,
            k=plan.k,
            context=context,
            progress=partial(report, "queries"),
        )
    questions_of = {ANSWERS: dataset.questions} if ANSWERS in modes else {}
    if questions_of and plan.foreign:
        questions_of[FOREIGN] = plan.foreign
    for mode, questions in questions_of.items():
        observations[mode] = run_questions(
            questions,
            collection=indexed.collection,
            ids=indexed.ids,
            k=plan.k,
            context=context,
            progress=partial(report, "questions" if mode == ANSWERS else "foreign questions"),
        )
    if CLAIMS in modes:
        observations[CLAIMS] = run_claims(
            pair_claims(dataset.claims, dataset.documents),
            context=context,
            progress=partial(report, "claims"),
        )
    shown = {name: getattr(settings, setting) for name, setting in SHOWN_SETTINGS.items()}
    changes = {name: text for name, text in plan.changes.items() if not SECRET.search(name)}
    return Result(
        dataset=dataset.name,
        collection=indexed.collection.qualified_name,
        created_at=timezone.now().isoformat(timespec="seconds"),
        k=plan.k,
        counts={**dataset.counts, "documents": len(indexed.ids)},
        settings={**shown, "answerer": default_answerer_name(), **changes},
        figures=measure_all(observations),
        timings=measure_timings(observations),
        by_kind=count_by_kind(
            observations.get(ANSWERS, {}),
            {question.id: question.kind for question in dataset.questions},
        ),
        thresholds=measure_thresholds(observations.get(ANSWERS, {})),
        notes=tuple(notes),
        observations=observations,
    )
