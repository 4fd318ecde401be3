"""Endpoints of original files: the file, and images of its pages."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from corpus.api.fields import read_input
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import (
    Errors,
    OriginalChanged,
    OriginalNotFound,
    PageNotFound,
    UnreadableFile,
)
from corpus.ingestion.original_files import (
    DOWNLOADED,
    has_pages,
    original_name,
    read_original,
    shown_type,
)
from corpus.loaders import registry
from corpus.loaders.page_images import draw_page
from corpus.models import Document

# A file can load nothing with this policy. Chromium's PDF viewer works under it.
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
PNG = "image/png"


class OriginalParams(serializers.Serializer[Any]):
    download = serializers.BooleanField(default=False)


@endpoint(
    GET=Endpoint(
        "get_original",
        tag="Documents",
        summary="Download the original file of a document",
        cost=Cost.SEARCH,
    )
)
class OriginalView(APIView):
    """Return the original file of a document.

    Browsers show PDFs and plain texts unless ``download`` is true; all other types, such as HTML
    and SVG, are only downloaded.
    """

    errors: ClassVar[Errors] = {"get": [OriginalNotFound, OriginalChanged]}

    @extend_schema(
        parameters=[OriginalParams],
        responses={
            (200, DOWNLOADED): OpenApiTypes.BINARY,
            (200, registry.PDF): OpenApiTypes.BINARY,
            (200, "text/plain"): OpenApiTypes.STR,
        },
    )
    def get(self, request: Request, document_id: UUID) -> HttpResponse:
        values = read_input(OriginalParams, request.query_params)
        document = get_object_or_404(Document.objects.listed(), pk=document_id)
        content = read_original(document)
        shown = shown_type(document, content)
        is_download = values["download"] or shown == DOWNLOADED
        tag = f'"{document.file_hash}"'
        reply = _send(request, lambda: content, content_type=shown, tag=tag)
        name = original_name(document)
        reply["Content-Disposition"] = content_disposition_header(is_download, name) or ""
        return reply


@endpoint(
    GET=Endpoint(
        "get_page",
        tag="Documents",
        summary="Get a page of a PDF or image as a picture",
        cost=Cost.SEARCH,
    )
)
class PageView(APIView):
    """Return a page of a PDF or an image, with at most four million pixels."""

    errors: ClassVar[Errors] = {
        "get": [OriginalNotFound, PageNotFound, OriginalChanged, UnreadableFile]
    }

    @extend_schema(responses={(200, PNG): OpenApiTypes.BINARY})
    def get(self, request: Request, document_id: UUID, number: int) -> HttpResponse:
        document = get_object_or_404(Document.objects.listed(), pk=document_id)
        content = read_original(document)
        if not has_pages(document):
            raise PageNotFound("Only PDFs and images have page images.")
        tag = f'"{document.file_hash}-{number}"'
        kind = document.media_type
        return _send(
            request,
            lambda: draw_page(content, number, media_type=kind),
            content_type=PNG,
            tag=tag,
        )


def _send(
    request: Request, content: Callable[[], bytes], *, content_type: str, tag: str
) -> HttpResponse:
    reply = get_conditional_response(request._request, etag=tag)
    reply = reply or HttpResponse(content(), content_type=content_type)
    reply["Content-Security-Policy"] = POLICY
    reply["X-Content-Type-Options"] = "nosniff"
    # Revalidated each time by the tag, because the document may be deleted.
    reply["Cache-Control"] = "private, no-cache"
    reply["ETag"] = tag
    return reply
