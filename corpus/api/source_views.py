"""Endpoints of sources: their state, and starting a sync."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.api.fields import StrictBooleanField, read_input
from corpus.api.job_views import JobResponse, job_response
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import Errors, SourceNotFound
from corpus.watched.due_syncs import source_states, sync_source


class SourceResponse(serializers.Serializer[Any]):
    name = serializers.CharField()
    kind = serializers.CharField()
    address = serializers.CharField(help_text="location of the source")
    collection = serializers.CharField(help_text="collection of its documents")
    every_s = serializers.IntegerField(
        allow_null=True, help_text="seconds between syncs; null: on demand"
    )
    document_count = serializers.IntegerField()
    job = JobResponse(allow_null=True, help_text="the last sync")


class SourceSync(serializers.Serializer[Any]):
    emptied = StrictBooleanField(
        default=False, help_text="the source is empty on purpose: delete all its documents"
    )


@endpoint(GET=Endpoint("list_sources", tag="Jobs", summary="List sources"))
class SourcesView(APIView):
    """List the sources that collections mirror."""

    @extend_schema(responses={200: SourceResponse(many=True)})
    def get(self, request: Request) -> Response:
        return Response(SourceResponse(source_states(), many=True).data)


@endpoint(
    POST=Endpoint("sync_source", tag="Jobs", summary="Sync a source", example={"emptied": False})
)
class SourceSyncView(APIView):
    """Start a sync of a source, or return its running one."""

    errors: ClassVar[Errors] = {"post": [SourceNotFound]}

    @extend_schema(request=SourceSync, responses={202: JobResponse})
    def post(self, request: Request, name: str) -> Response:
        values = read_input(SourceSync, request.data)
        return job_response(request, sync_source(name, emptied=values["emptied"]))
