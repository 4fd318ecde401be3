"""The endpoint that ingests texts, files and folders, and its serializers."""

from dataclasses import replace
from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from corpus.api.fields import (
    FormTagListField,
    JsonFormField,
    JsonObjectField,
    QualifiedNameField,
    StrictCharField,
    TagListField,
    UncheckedCharField,
    ZonedDateTimeField,
    read_input,
)
from corpus.api.idempotency import MAX_KEY_CHARS, respond_idempotently
from corpus.api.job_views import IngestFolder, JobResponse, ingest_folder
from corpus.catalogue import get_or_create_collection
from corpus.endpoints import EXAMPLE_TEXT, BodySize, Cost, Endpoint, endpoint
from corpus.errors import (
    CollectionNotFound,
    DuplicateDocument,
    Errors,
    FetchingOff,
    IdempotencyKeyBusy,
    InvalidInput,
    PathIngestionOff,
    PathNotFound,
    UnprocessableContent,
)
from corpus.ingestion.ingest import ingest_submission
from corpus.ingestion.packed_files import is_packed
from corpus.ingestion.submission import Attributes, IngestOptions, Submission, SubmittedFile
from corpus.ingestion.web_addresses import ingest_url
from corpus.jobs.uploads import start_upload
from corpus.models import DEFAULT_COLLECTION, Document, Installation


class _DocumentAttributes(serializers.Serializer[Any]):
    tags = TagListField(default=tuple)
    source = StrictCharField(max_length=100, default="", allow_blank=True)  # type: ignore[assignment]
    source_uri = StrictCharField(max_length=2048, default="", allow_blank=True)
    title = StrictCharField(max_length=512, default="", allow_blank=True)
    created_at = ZonedDateTimeField(default=None, allow_null=True)
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)
    metadata = JsonObjectField(default=dict)


class IngestText(_DocumentAttributes):
    text = UncheckedCharField()


class IngestUrl(_DocumentAttributes):
    url = StrictCharField(
        max_length=2048, help_text="page or file to fetch, if PKB_FETCH allows it"
    )
    source_uri = None  # type: ignore[assignment]


class IngestFile(_DocumentAttributes):
    file = serializers.FileField(allow_empty_file=True)
    tags = FormTagListField(default=tuple)
    metadata = JsonFormField(default=dict)


class IngestResponse(serializers.Serializer[Any]):
    document_id = serializers.UUIDField()
    chunk_ids = serializers.ListField(child=serializers.UUIDField())
    chunk_count = serializers.IntegerField()
    tags = serializers.ListField(child=serializers.CharField())
    collection = serializers.CharField()


class PartialIngestResponse(IngestResponse):
    """Some chunks have no vector yet; a job computes them."""

    embedded_count = serializers.IntegerField()
    status = serializers.SerializerMethodField()

    def get_status(self, stored: Any) -> str:
        return Document.Status.PROCESSING.value


REPLY = PolymorphicProxySerializer("IngestReply", [IngestResponse, PartialIngestResponse], None)


KEY = {"type": "string", "maxLength": MAX_KEY_CHARS}


@endpoint(
    POST=Endpoint(
        "ingest",
        tag="Documents",
        summary="Add a text, file, URL or folder",
        cost=Cost.ENCODE,
        body=BodySize.FILE,
        example={"text": EXAMPLE_TEXT, "title": "Bavoke", "tags": ["coast"]},
    )
)
class IngestView(APIView):
    """Ingest a text, a URL, a file as multipart form data, or a folder of the server."""

    errors: ClassVar[Errors] = {
        "post": [PathIngestionOff, FetchingOff, CollectionNotFound, PathNotFound, DuplicateDocument,
                 IdempotencyKeyBusy, UnprocessableContent],
    }  # fmt: skip
    parser_classes = [*api_settings.DEFAULT_PARSER_CLASSES, MultiPartParser]  # type: ignore[list-item]

    @extend_schema(
        request=PolymorphicProxySerializer("Ingest", [IngestText, IngestFolder, IngestUrl], None),
        parameters=[OpenApiParameter("Idempotency-Key", KEY, OpenApiParameter.HEADER)],
        responses={201: REPLY, 200: REPLY, 202: JobResponse},
    )
    def post(self, request: Request) -> Response:
        form: type[serializers.Serializer[Any]] = IngestText
        if (request.content_type or "").startswith("multipart/"):
            form = IngestFile
        elif "content_path" in request.data:
            form = IngestFolder
        elif "url" in request.data:
            form = IngestUrl
        values = read_input(form, request.data)
        return respond_idempotently(
            request.headers.get("Idempotency-Key", ""),
            fingerprint=values,
            respond=lambda: (
                ingest_folder(request, values) if "content_path" in values else _ingest(values)
            ),
        )


def _ingest(values: dict[str, Any]) -> Response:
    collection = get_or_create_collection(values["collection"])
    attributes = Attributes(
        source_uri=values.get("source_uri", ""),
        source=values["source"],
        title=values["title"],
        tags=values["tags"],
        metadata=values["metadata"],
        user_created_at=values["created_at"],
    )
    options = IngestOptions(apply_routing=True, is_awaited=True)
    if "url" in values:
        stored = ingest_url(
            values["url"], collection=collection, attributes=attributes, options=options
        )
    else:
        content: str | SubmittedFile = values.get("text", "")
        if "file" in values:
            upload = values["file"]
            if is_packed(upload.name or ""):
                head = upload.read()
                upload.seek(0)
                if is_packed(upload.name or "", head):
                    # A job ingests the files of an archive, or the threads of a mailbox.
                    for name in ("title", "source_uri", "metadata", "created_at"):
                        if values[name]:
                            message = "An archive has several documents, which have this."
                            raise InvalidInput(message, field=name)
                    label = {"source": values["source"]} if values["source"] else {}
                    job = start_upload(
                        [upload], collection=collection, tags=values["tags"], **label
                    )
                    return Response(JobResponse(job).data, status=202)
            media_type = upload.content_type or ""
            content = SubmittedFile(upload.read(), upload.name or "", media_type)
            options = replace(
                options,
                # Plain text has the limit of `text`, however it is sent.
                max_chars=settings.PKB_MAX_INPUT_CHARS if media_type == "text/plain" else None,
                keep_file=settings.PKB_KEEP_ORIGINALS and Installation.objects.owns_files(),
            )
        stored = ingest_submission(Submission(content, attributes, options), collection=collection)
    response = IngestResponse if stored.is_complete else PartialIngestResponse
    return Response(response(stored).data, status=201 if stored.is_new else 200)
