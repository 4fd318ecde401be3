"""Create grids, and fill them: a job asks each question of each document that has no answer yet."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from corpus.errors import DocumentNotFound, GridNotFound, InvalidInput
from corpus.ingestion.outcomes import ItemResult, Outcome
from corpus.jobs.kinds.job_kind import JobKind, start_job
from corpus.jobs.states import cancel_job
from corpus.models import Collection, CollectionChange, Document, Job, JobItem
from corpus.models.job import JobQuerySet
from qa.answer_question import answer_question
from qa.context import build_context
from qa.models import MAX_GRID_DOCUMENTS, Answer, Grid


class GridRow(NamedTuple):
    """A document and its cells, one for each question; None until the question is asked."""

    document: Document
    cells: Sequence[Answer | None]


def find_grid(grid_id: UUID, *, to_change: bool = False) -> Grid:
    """Return a grid, if the principal may read it, or change it with ``to_change``.

    Raises:
        GridNotFound: The principal sees no such grid.
        NotAllowed: The principal may only read it.
    """
    grid = Grid.objects.select_related("collection__owner").filter(pk=grid_id).first()
    if grid is None:
        raise GridNotFound(f"There is no grid {grid_id}.")
    if to_change:
        Collection.objects.get_writable(grid.collection.qualified_name)
    return grid


@transaction.atomic
def save_grid(grid: Grid) -> Grid:
    """Store a grid that is new or was changed, and start to fill it.

    Raises:
        InvalidInput: It has more documents than ``MAX_GRID_DOCUMENTS``.
        TooManyJobs: The user has too many unfinished jobs.
    """
    count = grid.documents().count()
    if count > MAX_GRID_DOCUMENTS:
        raise InvalidInput(
            f"The grid would have {count:,} documents; at most {MAX_GRID_DOCUMENTS:,} are possible."
            " Choose a tag, a folder or a filter.",
            field="collection",
        )
    grid.save()
    start_filling(grid)
    return grid


@transaction.atomic
def delete_grid(grid: Grid) -> None:
    for job in unfinished_jobs(grid):
        cancel_job(job.pk)
    grid.delete()


def unfinished_jobs(grid: Grid) -> JobQuerySet:
    """Return the jobs that fill a grid and have not ended."""
    return Job.objects.unfinished().filter(kind=Job.Kind.GRID, arguments__grid=str(grid.pk))


@transaction.atomic
def start_filling(grid: Grid) -> Job | None:
    """Delete cells that are not of a row and question; queue a job if a cell is to be asked.

    An unfinished job lists its rows again instead.
    """
    Grid.objects.select_for_update(no_key=True).get(pk=grid.pk)
    # Read before the rows: what changes meanwhile gives another version.
    versions = CollectionChange.objects.versions_of([grid.collection_id])
    grid.seen_version = sorted(versions.get(grid.collection_id, ()))
    grid.save(update_fields=["seen_version"])
    is_of_row = Q(asked_document__in=grid.documents().order_by(), question__in=grid.questions)
    grid.answers.exclude(is_of_row).delete()
    if not grid.stale_documents().exists():
        return None
    job = unfinished_jobs(grid).select_for_update().first()
    if job is None:
        return start_job(Job.Kind.GRID, grid.collection_id, {"grid": str(grid.pk)})
    Job.objects.filter(pk=job.pk).update(is_listed=False)
    return job


def fill_changed_grids() -> None:
    """Start to fill the grids whose collection has changed, unless they have grown too large."""
    grids = list(Grid.objects.select_related("collection"))
    versions = CollectionChange.objects.versions_of({grid.collection_id for grid in grids})
    for grid in grids:
        is_changed = versions.get(grid.collection_id, frozenset()) != set(grid.seen_version)
        if is_changed and grid.documents().count() <= MAX_GRID_DOCUMENTS:
            start_filling(grid)


def read_rows(
    grid: Grid, *, offset: int = 0, limit: int = MAX_GRID_DOCUMENTS, with_citations: bool = False
) -> list[GridRow]:
    """Return rows with their cells, by title; each cell has ``is_current``."""
    documents = list(grid.documents()[offset : offset + limit])
    cells = grid.cells().filter(asked_document__in=documents).defer("steps", "draft")
    if with_citations:
        cells = cells.prefetch_related("citations")
    cell_of = {(cell.asked_document_id, cell.question): cell for cell in cells}
    return [
        GridRow(each, [cell_of.get((each.pk, question)) for question in grid.questions])
        for each in documents
    ]


class GridKind(JobKind):
    """An item is a row; its cells are stored one by one, and those that are there stay."""

    stage = Job.Stage.ANSWERING

    def list_items(self, job: Job, *, should_stop: Callable[[], bool]) -> None:
        with transaction.atomic():
            # A change that is found later sets ``is_listed`` back.
            Job.objects.select_for_update().get(pk=job.pk)
            grid = Grid.objects.filter(pk=job.arguments["grid"]).first()
            keys = list(grid.stale_documents().values_list("pk", flat=True)) if grid else []
            # A row may be listed again.
            items = [
                JobItem(job=job, key=f"{key}:{job.start_count}", document_id=key) for key in keys
            ]
            JobItem.objects.bulk_create(items)
            Job.objects.filter(pk=job.pk).update(is_listed=True, total=F("total") + len(items))

    def run(self, item: JobItem) -> ItemResult:
        grid = Grid.objects.filter(pk=item.job.arguments["grid"]).first()
        row = grid.documents().filter(pk=str(item.document_id)).first() if grid else None
        if grid is None or row is None:
            return ItemResult(Outcome.REMOVED, str(item.document_id))
        cells = grid.answers.filter(asked_document=row, asked_sha256=row.content_sha256)
        asked = set(cells.values_list("question", flat=True))
        context = build_context()
        for question in grid.questions:
            if question in asked:
                continue
            try:
                answer_question(
                    question,
                    collection=grid.collection.qualified_name,
                    document_id=row.pk,
                    k=settings.PKB_RETRIEVAL_K,
                    context=context,
                    route="grid",
                    grid=grid,
                )
            except (GridNotFound, DocumentNotFound):
                return ItemResult(Outcome.REMOVED, str(item.document_id))
        return ItemResult(Outcome.ANSWERED, str(row.pk))
