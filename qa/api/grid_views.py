"""Endpoints of grids: questions that are asked of each document of a collection."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from django.utils.text import slugify
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.api.fields import (
    FilterField,
    QualifiedNameField,
    StrictCharField,
    TagListField,
    read_input,
)
from corpus.api.pagination import MAX_LIMIT, CreationPagination
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, GridNotFound
from corpus.models import DEFAULT_COLLECTION, Collection
from corpus.spreadsheets import write_csv, write_xlsx
from qa.grids import GridRow, delete_grid, find_grid, read_rows, save_grid, unfinished_jobs
from qa.models import MAX_GRID_DOCUMENTS, MAX_GRID_QUESTIONS, Answer, Grid

MAX_NAME_CHARS = 200
# It is a part of an index: at most 2,000 bytes in UTF-8.
MAX_QUESTION_CHARS = 500
MAX_FOLDER_CHARS = 2_048
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class _StoredFilterField(FilterField):
    """A filter that is checked, and stored as it was sent."""

    def to_internal_value(self, data: Any) -> Any:
        super().to_internal_value(data)
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class _QuestionsField(serializers.ListField):
    child = StrictCharField(max_length=MAX_QUESTION_CHARS)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_length=1, max_length=MAX_GRID_QUESTIONS, **kwargs)

    def to_internal_value(self, data: Any) -> Any:
        return list(dict.fromkeys(super().to_internal_value(data)))


class GridUpdate(serializers.Serializer[Any]):
    name = StrictCharField(max_length=MAX_NAME_CHARS, required=False)
    questions = _QuestionsField(
        required=False, help_text="all of them; cells of others are deleted"
    )


class GridInput(serializers.Serializer[Any]):
    name = StrictCharField(max_length=MAX_NAME_CHARS)
    questions = _QuestionsField()
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)
    tags = TagListField(default=tuple)
    folder = StrictCharField(
        max_length=MAX_FOLDER_CHARS, default="", allow_blank=True,
        help_text="only documents with a path or address below it",
    )  # fmt: skip
    filters = _StoredFilterField(default=None, allow_null=True)


class GridShown(serializers.ModelSerializer[Grid]):
    collection = serializers.CharField(source="collection.qualified_name")
    questions = serializers.ListField(child=serializers.CharField())
    tags = serializers.ListField(child=serializers.CharField())
    filters = _StoredFilterField(allow_null=True)

    class Meta:
        model = Grid
        fields = [
            "id", "name", "collection", "questions", "tags", "folder", "filters", "created_at"
        ]  # fmt: skip


class CellShown(serializers.Serializer[Any]):
    """A stored answer in short; ``GET /answers/{id}`` shows it with its quotes."""

    answer_id = serializers.UUIDField(source="pk")
    kind = serializers.ChoiceField(Answer.Kind.choices)
    short = serializers.CharField(allow_blank=True, help_text="empty: not found in this document")
    confidence = serializers.FloatField()
    disagrees = serializers.SerializerMethodField()
    is_current = serializers.BooleanField(help_text="false: the document has changed since")

    def get_disagrees(self, cell: Answer) -> bool:
        return bool(cell.disagreement)


class RowShown(serializers.Serializer[Any]):
    document_id = serializers.UUIDField(source="document.pk")
    document_name = serializers.CharField(source="document.name")
    cells = serializers.ListField(
        child=CellShown(allow_null=True), help_text="one for each question; null: not asked yet"
    )


class RowParams(serializers.Serializer[Any]):
    offset = serializers.IntegerField(min_value=0, max_value=MAX_GRID_DOCUMENTS, default=0)
    limit = serializers.IntegerField(min_value=1, max_value=MAX_LIMIT, default=20)


class WholeGridShown(GridShown):
    total_rows = serializers.IntegerField()
    job_id = serializers.UUIDField(allow_null=True, help_text="the job that fills it")
    rows = RowShown(many=True)

    class Meta(GridShown.Meta):
        fields = [*GridShown.Meta.fields, "total_rows", "job_id", "rows"]


class ExportParams(serializers.Serializer[Any]):
    format = serializers.ChoiceField(["csv", "xlsx"], default="csv")


@endpoint(
    GET=Endpoint("list_grids", tag="Grids", summary="List grids"),
    POST=Endpoint(
        "create_grid",
        tag="Grids",
        summary="Ask each document the same questions",
        example={"name": "Checks", "questions": [EXAMPLE_QUESTION]},
    ),
)
class GridsView(generics.ListAPIView[Grid]):
    """List and create grids; a background job asks their questions."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}
    queryset = Grid.objects.select_related("collection__owner")
    serializer_class = GridShown
    pagination_class = CreationPagination

    @extend_schema(request=GridInput, responses={201: GridShown})
    def post(self, request: Request) -> Response:
        values = read_input(GridInput, request.data)
        collection = Collection.objects.get_writable(values.pop("collection"))
        grid = save_grid(Grid(collection=collection, **values))
        return Response(GridShown(grid).data, status=201)


@endpoint(
    GET=Endpoint("get_grid", tag="Grids", summary="Get a grid with rows"),
    PATCH=Endpoint(
        "change_grid",
        tag="Grids",
        summary="Rename a grid, add or remove questions",
        example={"questions": [EXAMPLE_QUESTION, "What triggers an alert?"]},
    ),
    DELETE=Endpoint("delete_grid", tag="Grids", summary="Delete a grid"),
)
class GridView(APIView):
    """Show, change and delete one grid; who may read its collection may read it."""

    errors: ClassVar[Errors] = {
        "get": [GridNotFound],
        "patch": [GridNotFound],
        "delete": [GridNotFound],
    }

    @extend_schema(parameters=[RowParams], responses={200: WholeGridShown})
    def get(self, request: Request, grid_id: UUID) -> Response:
        page = read_input(RowParams, request.query_params)
        grid: Any = find_grid(grid_id)
        grid.total_rows = grid.documents().count()
        grid.job_id = unfinished_jobs(grid).values_list("pk", flat=True).first()
        grid.rows = read_rows(grid, **page)
        return Response(WholeGridShown(grid).data)

    @extend_schema(request=GridUpdate, responses={200: GridShown})
    def patch(self, request: Request, grid_id: UUID) -> Response:
        grid = find_grid(grid_id, to_change=True)
        for name, value in read_input(GridUpdate, request.data).items():
            setattr(grid, name, value)
        return Response(GridShown(save_grid(grid)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, grid_id: UUID) -> Response:
        delete_grid(find_grid(grid_id, to_change=True))
        return Response(status=204)


@endpoint(GET=Endpoint("export_grid", tag="Grids", summary="Download a grid", cost=Cost.SEARCH))
class GridExportView(APIView):
    """Download a grid: a row for each quote (CSV), or sheets of answers and quotes (XLSX)."""

    errors: ClassVar[Errors] = {"get": [GridNotFound]}

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # ``format`` names the file's format, not a renderer.
        return super().perform_content_negotiation(request, force=True)

    @extend_schema(
        parameters=[ExportParams], responses={(200, "text/csv"): str, (200, XLSX): bytes}
    )
    def get(self, request: Request, grid_id: UUID) -> HttpResponse:
        values = read_input(ExportParams, request.query_params)
        grid = find_grid(grid_id)
        rows = read_rows(grid, with_citations=True)
        if values["format"] == "csv":
            content: Any = write_csv(_quote_table(rows))
        else:
            answers = [("document", *grid.questions)]
            for document, cells in rows:
                answers.append((document.name, *(cell.short if cell else "" for cell in cells)))
            content = write_xlsx({"Answers": answers, "Quotes": _quote_table(rows)})
        name = f"{slugify(grid.name)[:60] or 'grid'}.{values['format']}"
        return HttpResponse(
            content,
            content_type="text/csv" if values["format"] == "csv" else XLSX,
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def _quote_table(rows: Sequence[GridRow]) -> Iterator[Sequence[Any]]:
    yield (
        "document", "question", "answer", "kind", "confidence", "disagrees", "quote", "section",
        "page", "document_id", "answer_id",
    )  # fmt: skip
    for document, cells in rows:
        for cell in filter(None, cells):
            answer = (
                document.name, cell.question, cell.short, cell.kind, round(cell.confidence, 3),
                "yes" if cell.disagreement else "",
            )  # fmt: skip
            keys = (str(document.pk), str(cell.pk))
            quotes = [
                (each.quote, " › ".join(each.heading_path), each.page)
                for each in cell.citations.all()
            ]
            for quote in quotes or [("", "", None)]:
                yield *answer, *quote, *keys
