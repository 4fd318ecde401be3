"""Evaluate one configuration on a data set, or on accepted questions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from django.conf import settings
from django.utils import timezone

from corpus.errors import InvalidDataSet
from corpus.models import Collection
from evaluation.datasets import DataSet, GoldQuestion
from evaluation.figures import count_by_kind, measure_all, measure_thresholds, measure_timings
from evaluation.index import IndexedDataset, index_dataset
from evaluation.results import (
    ANSWERS,
    FOREIGN,
    RETRIEVAL,
    Observation,
    Result,
)
from evaluation.runs import run_queries, run_questions
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


def evaluate_dataset(
    dataset: DataSet,
    *,
    collection: Collection | None = None,
    k: int,
    modes: Sequence[str] = (),
    is_fresh: bool = False,
    foreign: Sequence[GoldQuestion] = (),
    changes: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    report: Report,
) -> Result:
    """Ask and measure, with the active settings; ingest the documents first.

    Args:
        collection: Ask this one, whose document ids are the gold ids, and ingest nothing.
        k: Passages for an answer, and the depth of recall@k.
        modes: Of ``retrieval`` and ``answers``; by default, all that are possible.
        is_fresh: Ingest the data set's documents again.
        foreign: Questions of another data set, unanswerable here.
        changes: Changed settings by environment name, stored only.
        notes: Caveats for readers.

    Raises:
        InvalidDataSet: It contains nothing that the modes measure.
        PkbError: A model failed, or a document cannot be ingested.
    """
    modes = choose_modes(dataset, modes)
    if collection is not None:
        gold = (key for question in dataset.questions for key in question.doc_ids)
        # All documents, so that a wrongly retrieved one has a name too.
        stored = map(str, collection.documents.values_list("pk", flat=True))
        indexed = IndexedDataset(collection, {key: (key,) for key in chain(gold, stored)})
    else:
        indexed = index_dataset(dataset, fresh=is_fresh, progress=partial(report, "documents"))
    if indexed.missing_count:
        notes = [*notes, f"{indexed.missing_count} documents hold no text."]
    context = replace(build_context(), caches_answers=False)
    asking: dict[str, Any] = {"collection": indexed.collection, "ids": indexed.ids, "k": k}
    asking["context"] = context
    observations: dict[str, dict[str, Observation]] = {}
    if RETRIEVAL in modes:
        progress = partial(report, "queries")
        observations[RETRIEVAL] = run_queries(dataset.queries, **asking, progress=progress)
    if ANSWERS in modes:
        progress = partial(report, "questions")
        observations[ANSWERS] = run_questions(dataset.questions, **asking, progress=progress)
    if ANSWERS in modes and foreign:
        progress = partial(report, "foreign questions")
        observations[FOREIGN] = run_questions(foreign, **asking, progress=progress)
    shown = {name: getattr(settings, setting) for name, setting in SHOWN_SETTINGS.items()}
    public = {name: text for name, text in (changes or {}).items() if not SECRET.search(name)}
    return Result(
        dataset=dataset.name,
        collection=indexed.collection.qualified_name,
        created_at=timezone.now().isoformat(timespec="seconds"),
        k=k,
        counts={**dataset.counts, "documents": len(indexed.ids)},
        settings={**shown, "answerer": default_answerer_name(), **public},
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


def choose_modes(dataset: DataSet, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the requested modes, by default all that the data set allows.

    Raises:
        InvalidDataSet: It lacks the data of a requested mode, or of all.
    """
    has_corpus = bool(dataset.documents) or dataset.name.startswith("collection-")
    possible = {
        RETRIEVAL: bool(has_corpus and dataset.queries),
        ANSWERS: bool(has_corpus and dataset.questions),
    }
    lacking = [mode for mode in wanted if not possible[mode]]
    if lacking:
        raise InvalidDataSet(f"{dataset.name} has nothing to measure {lacking[0]} with.")
    chosen = tuple(mode for mode, there_is in possible.items() if there_is)
    if not chosen:
        raise InvalidDataSet(f"{dataset.name} has no corpus with queries or questions to ask it.")
    return tuple(wanted) or chosen
