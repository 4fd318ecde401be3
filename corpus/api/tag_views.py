"""Endpoints and serializers of tags."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.api.pagination import NamePagination
from corpus.catalogue import delete_tag
from corpus.endpoints import Endpoint, endpoint
from corpus.models import Tag


class TagResponse(serializers.Serializer[Any]):
    name = serializers.CharField()
    document_count = serializers.IntegerField()
    chunk_count = serializers.IntegerField()


@endpoint(GET=Endpoint("list_tags", tag="Documents", summary="List tags"))
class TagsView(generics.ListAPIView[Tag]):
    """List the tags in use."""

    queryset = Tag.objects.counts_by_name()
    serializer_class = TagResponse
    pagination_class = NamePagination


@endpoint(
    GET=Endpoint("get_tag", tag="Documents", summary="Get a tag with its counts"),
    DELETE=Endpoint("delete_tag", tag="Documents", summary="Delete a tag"),
)
class TagView(generics.RetrieveAPIView[Tag]):
    """Show and delete one tag."""

    queryset = Tag.objects.counts_by_name()
    serializer_class = TagResponse
    lookup_field = "name"

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        delete_tag(name)
        return Response(status=204)
