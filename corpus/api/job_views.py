"""Endpoints and serializers of background jobs and of files on the server."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from corpus.api.fields import (
    QualifiedNameField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.api.pagination import NewestFirstPagination
from corpus.catalogue import get_or_create_collection
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import (
    CollectionNotFound,
    Errors,
    JobNotFound,
    JobStateConflict,
    PathIngestionOff,
    PathNotFound,
    UnprocessableContent,
)
from corpus.ingestion.folder_mirror import DEFAULT_BATCH_SIZE, FolderMirror, SyncOptions
from corpus.jobs.kinds.sync_job import start_sync
from corpus.jobs.states import cancel_job, retry_job
from corpus.models import DEFAULT_COLLECTION, Collection, Installation, Job
from corpus.roots.allowed import find_allowed
from corpus.roots.shown_paths import shown_path

PATH_CHARS = 4096


def _path_field() -> StrictCharField:
    # Text, because a path may begin and end with spaces.
    return StrictCharField(max_length=PATH_CHARS, trim_whitespace=False)


class _FolderOptions(serializers.Serializer[Any]):
    force_reindex = StrictBooleanField(default=False)
    batch_size = StrictIntegerField(
        default=DEFAULT_BATCH_SIZE,
        min_value=1,
        max_value=1_000,
        help_text="number of files to list at a time",
    )


class IngestFolder(_FolderOptions):
    content_path = _path_field()
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)
    tags = TagListField(default=tuple)
    source = StrictCharField(max_length=100, default="", allow_blank=True)  # type: ignore[assignment]


class EncodeBatch(_FolderOptions):
    directory_path = _path_field()
    index_name = QualifiedNameField()


class EncodeBatchResponse(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Job.Status.choices)
    message = serializers.CharField()
    index_name = serializers.CharField()
    job_id = serializers.UUIDField()


class EncodeDoc(serializers.Serializer[Any]):
    document_path = _path_field()
    index_name = QualifiedNameField()


class EncodeDocResponse(serializers.Serializer[Any]):
    status = serializers.CharField(help_text="added, replaced or unchanged")
    chunks_created = serializers.IntegerField(help_text="chunks of the document")
    index_name = serializers.CharField()


class JobError(serializers.Serializer[Any]):
    path = serializers.CharField(
        allow_blank=True, help_text="path of the file; empty for other errors"
    )
    document_id = serializers.UUIDField(required=False, help_text="the document, if no file failed")
    reason = serializers.CharField()

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        return super().to_representation({**instance, "path": shown_path(instance["path"])})


class JobResponse(serializers.ModelSerializer[Job]):
    collection = serializers.CharField(source="collection.qualified_name")
    skipped = serializers.DictField(
        child=serializers.IntegerField(), help_text="skipped files of the folder, by kind"
    )
    errors = JobError(many=True)  # type: ignore[assignment]

    class Meta:
        model = Job
        fields = [
            "id", "kind", "collection", "status", "stage", "total", "done", "failed", "skipped",
            "errors", "created_at", "started_at", "finished_at", "request_id",
        ]  # fmt: skip


class JobFilter(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(Job.Kind.choices, required=False)
    status = serializers.ChoiceField(Job.Status.choices, required=False)
    collection = QualifiedNameField(required=False)


SOURCE = "api"


def ingest_folder(request: Request, values: dict[str, Any]) -> Response:
    """Start a sync of a folder below an allowed root."""
    job = _start_sync(
        values["content_path"],
        values["collection"],
        values,
        source=values["source"],
        tags=values["tags"],
    )
    return job_response(request, job)


def job_response(request: Request, job: Job) -> Response:
    """Return the 202 response of an accepted job."""
    url = reverse("job", args=[job.pk], request=request)
    return Response(JobResponse(job).data, status=202, headers={"Location": url})


def _start_sync(path: str, collection: str, values: dict[str, Any], **labels: Any) -> Job:
    folder = find_allowed(path, folder=True)
    options = SyncOptions(
        paths=(str(folder.path),),
        root=str(folder.root),
        mirror=True,
        force=values["force_reindex"],
        batch_size=values["batch_size"],
        **labels,
    )
    return start_sync(get_or_create_collection(collection), options)


@endpoint(
    POST=Endpoint(
        "encode_doc",
        tag="Index scripts",
        summary="Add a file of the server",
        cost=Cost.ENCODE,
        example={"document_path": "feature-stores.md", "index_name": "default"},
    )
)
class EncodeDocView(APIView):
    """Ingest one file of the server immediately."""

    errors: ClassVar[Errors] = {
        "post": [PathIngestionOff, CollectionNotFound, PathNotFound, UnprocessableContent]
    }

    @extend_schema(request=EncodeDoc, responses={200: EncodeDocResponse})
    def post(self, request: Request) -> Response:
        values = read_input(EncodeDoc, request.data)
        Installation.objects.require_files_here()
        file = find_allowed(values["document_path"], folder=False)
        collection = get_or_create_collection(values["index_name"])
        options = SyncOptions(paths=(str(file.path),), root=str(file.root), source=SOURCE)
        try:
            result = FolderMirror(collection, options).sync(str(file.path))
        except OSError as exc:
            raise PathNotFound("There is no such file in PKB_INGEST_ROOTS.") from exc
        body = {
            "status": result.outcome.value,
            "chunks_created": result.chunk_count,
            "index_name": collection.qualified_name,
        }
        return Response(EncodeDocResponse(body).data)


@endpoint(
    POST=Endpoint(
        "encode_batch",
        tag="Index scripts",
        summary="Sync a folder of the server",
        example={"directory_path": "manuals", "index_name": "default"},
    )
)
class EncodeBatchView(APIView):
    """Start a sync of a folder of the server."""

    errors: ClassVar[Errors] = {"post": [PathIngestionOff, CollectionNotFound, PathNotFound]}

    @extend_schema(request=EncodeBatch, responses={202: EncodeBatchResponse})
    def post(self, request: Request) -> Response:
        values = read_input(EncodeBatch, request.data)
        job = _start_sync(values["directory_path"], values["index_name"], values, source=SOURCE)
        body = {
            "status": job.status,
            "message": "A background job ingests the folder.",
            "index_name": values["index_name"],
            "job_id": job.pk,
        }
        url = reverse("job", args=[job.pk], request=request)
        return Response(EncodeBatchResponse(body).data, status=202, headers={"Location": url})


@endpoint(GET=Endpoint("list_jobs", tag="Jobs", summary="List jobs"))
@extend_schema_view(get=extend_schema(parameters=[JobFilter]))
class JobsView(generics.ListAPIView[Job]):
    """List the jobs, newest first."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}
    serializer_class = JobResponse
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Job]:
        values = read_input(JobFilter, self.request.query_params)
        jobs = Job.objects.select_related("collection__owner")
        if "collection" in values:
            jobs = jobs.filter(collection=Collection.objects.get_named(values["collection"]))
        exact = {name: values[name] for name in ("kind", "status") if name in values}
        return jobs.filter(**exact)


@endpoint(GET=Endpoint("get_job", tag="Jobs", summary="Get a job"))
class JobView(generics.RetrieveAPIView[Job]):
    """Return one job."""

    queryset = Job.objects.select_related("collection__owner")
    serializer_class = JobResponse
    lookup_url_kwarg = "job_id"


@endpoint(POST=Endpoint("retry_job", tag="Jobs", summary="Retry a job"))
class JobRetryView(APIView):
    """Queue a failed or cancelled job again."""

    errors: ClassVar[Errors] = {"post": [JobNotFound, JobStateConflict]}

    @extend_schema(request=None, responses={202: JobResponse})
    def post(self, request: Request, job_id: UUID) -> Response:
        return job_response(request, retry_job(job_id))


@endpoint(POST=Endpoint("cancel_job", tag="Jobs", summary="Cancel a job"))
class JobCancelView(APIView):
    """Stop a queued or running job after the current file."""

    errors: ClassVar[Errors] = {"post": [JobNotFound, JobStateConflict]}

    @extend_schema(request=None, responses={202: JobResponse})
    def post(self, request: Request, job_id: UUID) -> Response:
        return job_response(request, cancel_job(job_id))
