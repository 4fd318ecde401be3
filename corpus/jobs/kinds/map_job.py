"""Compute the map of a collection: the first two principal components of its vectors."""

import numpy as np
from django.db import transaction
from django.utils import timezone
from numpy.typing import NDArray

from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind
from corpus.models import Collection, CollectionMap, Embedding, Job, JobItem
from corpus.queue import enqueue_job
from corpus.user_quotas import check_job_quota

# More points cannot be told apart, and slow the browser down.
MAX_POINTS = 2_000
DIMENSIONS = 2
# Coordinates in [0, 1], finer than a pixel.
DECIMALS = 4


class MapKind(JobKind):
    """The single item is the collection."""

    stage = Job.Stage.MAPPING

    def run(self, item: JobItem) -> ItemResult:
        draw_map(item.job.collection)
        return ItemResult(Outcome.DRAWN)


@transaction.atomic
def start_map(collection: Collection) -> Job:
    """Create a job that computes the map, or return the unfinished one.

    Raises:
        TooManyJobs: The user has too many unfinished jobs.
    """
    job = Job.objects.unfinished().filter(kind=Job.Kind.MAP, collection=collection).first()
    if job is None:
        check_job_quota()
        job = Job.objects.create(kind=Job.Kind.MAP, collection=collection, total=1, is_listed=True)
        JobItem.objects.create(job=job, key=collection.name)
        enqueue_job(job.pk)
    return job


def draw_map(collection: Collection) -> CollectionMap:
    """Compute the map of at most ``MAX_POINTS`` chunks, and replace the stored one."""
    rows = Embedding.objects.filter(collection=collection, model=collection.embedding_model)
    # Ids are random: the first ones are a reproducible sample.
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
        Points of shape (n, 2), each coordinate scaled to [0, 1] (0.5 if all are equal), and the
        share of the variance that they explain.
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
