"""Endpoints and serializers of synced websites."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.api.fields import (
    QualifiedNameField,
    StrictBooleanField,
    StrictCharField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.api.job_views import JobResponse, job_response
from corpus.api.pagination import CreationPagination
from corpus.catalogue import get_or_create_collection
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import (
    CollectionNotFound,
    Errors,
    FetchingOff,
    SiteNotFound,
    UnprocessableContent,
)
from corpus.models import DEFAULT_COLLECTION, Job, Site
from corpus.public_web import check_fetching
from corpus.sites import (
    DEFAULT_DEPTH,
    DEFAULT_PAGES,
    MAX_DEPTH,
    MAX_HOURS,
    SiteLimits,
    add_site,
    find_site,
    refresh_site,
    remove_site,
)


class SiteInput(serializers.Serializer[Any]):
    url = StrictCharField(
        max_length=2048, help_text="start URL; the site is everything in its folder"
    )
    crawl = StrictBooleanField(default=True, help_text="false: only that page")
    depth = StrictIntegerField(
        default=DEFAULT_DEPTH,
        min_value=0,
        max_value=MAX_DEPTH,
        help_text="steps of links from the first page",
    )
    max_pages = StrictIntegerField(
        default=DEFAULT_PAGES,
        min_value=1,
        max_value=100_000,
        help_text="maximum pages of each update",
    )
    every_hours = StrictIntegerField(
        default=None, allow_null=True, min_value=1, max_value=MAX_HOURS,
        help_text="hours between updates; null: on demand",
    )  # fmt: skip
    collection = QualifiedNameField(default=DEFAULT_COLLECTION)
    tags = TagListField(default=tuple)


class SiteResponse(serializers.ModelSerializer[Site]):
    url = serializers.CharField(source="address")
    crawl = serializers.BooleanField(source="is_whole")
    collection = serializers.CharField(source="collection.qualified_name")
    tags = serializers.ListField(child=serializers.CharField())
    job_id = serializers.UUIDField(allow_null=True, help_text="the last update")
    status = serializers.ChoiceField(
        Job.Status.choices,
        source="job.status",
        default=None,
        allow_null=True,
        help_text="status of the last update",
    )

    class Meta:
        model = Site
        fields = [
            "id", "url", "crawl", "depth", "max_pages", "every_hours", "due_at", "collection",
            "tags", "job_id", "status", "request_count", "received_bytes", "created_at",
        ]  # fmt: skip


class RemovalParams(serializers.Serializer[Any]):
    with_documents = serializers.BooleanField(default=False, help_text="also delete its documents")


@endpoint(
    GET=Endpoint("list_sites", tag="Documents", summary="List synced sites"),
    POST=Endpoint(
        "add_site",
        tag="Documents",
        summary="Import a site or page and keep it in sync",
        example={"url": "https://docs.example.org/guide/", "depth": 2, "every_hours": 24},
    ),
)
class SitesView(generics.ListAPIView[Site]):
    """List and add synced sites and pages."""

    errors: ClassVar[Errors] = {
        "get": [FetchingOff],
        "post": [FetchingOff, CollectionNotFound, UnprocessableContent],
    }
    serializer_class = SiteResponse
    pagination_class = CreationPagination

    def get_queryset(self) -> QuerySet[Site]:
        check_fetching()
        return Site.objects.select_related("collection__owner", "job")

    @extend_schema(request=SiteInput, responses={201: SiteResponse, 200: SiteResponse})
    def post(self, request: Request) -> Response:
        """Keep a site or a page, and begin to bring it in."""
        values = read_input(SiteInput, request.data)
        limits = SiteLimits(
            is_whole=values["crawl"],
            depth=values["depth"],
            max_pages=values["max_pages"],
            every_hours=values["every_hours"],
        )
        check_fetching()
        site, is_new = add_site(
            values["url"],
            limits,
            collection=get_or_create_collection(values["collection"]),
            tags=values["tags"],
        )
        refresh_site(site.pk)
        shown = SiteResponse(find_site(site.pk))
        return Response(shown.data, status=201 if is_new else 200)


@endpoint(
    GET=Endpoint("get_site", tag="Documents", summary="Get a site"),
    DELETE=Endpoint("remove_site", tag="Documents", summary="Stop syncing a site"),
)
class SiteView(APIView):
    """Show and remove one site."""

    errors: ClassVar[Errors] = {
        "get": [FetchingOff, SiteNotFound],
        "delete": [FetchingOff, SiteNotFound],
    }

    @extend_schema(responses={200: SiteResponse})
    def get(self, request: Request, site_id: UUID) -> Response:
        check_fetching()
        return Response(SiteResponse(find_site(site_id)).data)

    @extend_schema(parameters=[RemovalParams], responses={204: None})
    def delete(self, request: Request, site_id: UUID) -> Response:
        check_fetching()
        values = read_input(RemovalParams, request.query_params)
        remove_site(site_id, with_documents=values["with_documents"])
        return Response(status=204)


@endpoint(POST=Endpoint("refresh_site", tag="Documents", summary="Update a site now"))
class SiteRefreshView(APIView):
    """Start a sync of a site unless one is running."""

    errors: ClassVar[Errors] = {"post": [FetchingOff, SiteNotFound]}

    @extend_schema(request=None, responses={202: JobResponse})
    def post(self, request: Request, site_id: UUID) -> Response:
        return job_response(request, refresh_site(site_id))
