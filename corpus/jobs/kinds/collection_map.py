"""Lay a collection out in two dimensions: principal components of its vectors."""

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from numpy.typing import NDArray

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.base import JobKind
from corpus.models import Collection, CollectionMap, Document, Embedding, Job, JobItem
from corpus.queue import enqueue_job
from corpus.user_quotas import check_job_quota

# More dots than this neither a person tells apart nor a browser draws at once.
MAX_POINTS = 2_000
DIMENSIONS = 2
# Of coordinates in [0, 1]: finer than a pixel of any screen.
DECIMALS = 4


class MapKind(JobKind):
    """The one item is the collection."""

    stage = Job.Stage.MAPPING

    def run(self, item: JobItem) -> ItemResult:
        draw_map(item.job.collection)
        return ItemResult(Outcome.DRAWN)

    def documents(self, job: Job, items: "QuerySet[JobItem]") -> "QuerySet[Document]":
        return Document.objects.none()


@transaction.atomic
def start_map(collection: Collection) -> Job:
    """Have a worker lay the collection out, unless one is about to.

    Raises:
        TooManyJobs: Who acts has as many unfinished ones as they may.
    """
    job = Job.objects.unfinished().filter(kind=Job.Kind.MAP, collection=collection).first()
    if job is None:
        check_job_quota()
        job = Job.objects.create(kind=Job.Kind.MAP, collection=collection, total=1, is_listed=True)
        JobItem.objects.create(job=job, key=collection.name)
        enqueue_job(job.pk)
    return job


def draw_map(collection: Collection) -> CollectionMap:
    """Lay out at most ``MAX_POINTS`` chunks, and keep that in place of the last map."""
    rows = Embedding.objects.filter(collection=collection, model=collection.embedding_model)
    # Ids are random: the first ones are a sample, and the same one each time.
    sample = list(rows.order_by("chunk_id").values_list("chunk_id", "vector")[:MAX_POINTS])
    vectors = np.array([vector for _, vector in sample], dtype=np.float32)
    projected, share = project(vectors.reshape(len(sample), -1))
    points = [
        {"chunk_id": str(chunk_id), "x": float(x), "y": float(y)}
        for (chunk_id, _), (x, y) in zip(sample, projected, strict=True)
    ]
    drawn, _ = CollectionMap.objects.update_or_create(
        collection=collection,
        defaults={
            "model": collection.embedding_model,
            "points": points,
            "variance_share": share,
            "computed_at": timezone.now(),
        },
    )
    return drawn


def project(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Project rows onto their first two principal components.

    Returns:
        Places of shape (n, 2), each coordinate spread over [0, 1] (.5 where all agree), and the
        share of the variance that they keep.
    """
    if len(vectors) < DIMENSIONS:
        return np.full((len(vectors), DIMENSIONS), 0.5), 0.0
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    left, strengths, right = np.linalg.svd(centred, full_matrices=False)
    # A component's sign is arbitrary; its largest weight is made positive.
    largest = np.abs(right[:DIMENSIONS]).argmax(axis=1)
    signs = np.sign(right[np.arange(DIMENSIONS), largest])
    projected = left[:, :DIMENSIONS] * strengths[:DIMENSIONS] * signs
    spread = np.ptp(projected, axis=0)
    lowest = projected.min(axis=0)
    unit = np.where(spread > 0, (projected - lowest) / np.where(spread > 0, spread, 1), 0.5)
    total = float((strengths**2).sum())
    share = float((strengths[:DIMENSIONS] ** 2).sum()) / total if total else 0.0
    return unit.round(DECIMALS), share
