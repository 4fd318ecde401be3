"""Endpoints of the access to a collection."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.grants import get_owned_collection, grant_role, list_grants, revoke_grant, set_public
from corpus.api.fields import StrictBooleanField, StrictCharField, read_input
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, GrantNotFound, NotAllowed
from corpus.models import Collection, Grant


class GrantResponse(serializers.Serializer[Grant]):
    id = serializers.IntegerField()
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    group = serializers.CharField(source="group.name", default=None, allow_null=True)
    role = serializers.ChoiceField(Grant.Role.choices)
    created_at = serializers.DateTimeField()


class GrantInput(serializers.Serializer[Any]):
    user = StrictCharField(
        max_length=150, default="", help_text="a user's name; instead of a group"
    )
    group = StrictCharField(
        max_length=150, default="", help_text="a group's name; instead of a user"
    )
    role = serializers.ChoiceField(Grant.Role.choices)


class AccessResponse(serializers.Serializer[Any]):
    owner = serializers.CharField(allow_null=True, help_text="null: the administrators own it")
    is_public = serializers.BooleanField(help_text="all users may read it")
    grants = GrantResponse(many=True)


class AccessInput(serializers.Serializer[Any]):
    is_public = StrictBooleanField()


@endpoint(
    GET=Endpoint(
        "get_access", tag="Collections", summary="Get the owner and grants of a collection"
    ),
    POST=Endpoint(
        "grant",
        tag="Collections",
        summary="Give a user or a group access to a collection",
        example={"user": "ida", "role": "reader"},
    ),
    PATCH=Endpoint(
        "publish",
        tag="Collections",
        summary="Share a collection with all users, or make it private",
        example={"is_public": True},
    ),
)
class AccessView(APIView):
    """Owner and grants of a collection, for its owners."""

    errors: ClassVar[Errors] = dict.fromkeys(
        ("get", "post", "patch"), (CollectionNotFound, NotAllowed)
    )

    @extend_schema(responses={200: AccessResponse})
    def get(self, request: Request, name: str) -> Response:
        return Response(_render_access(get_owned_collection(name)))

    @extend_schema(request=GrantInput, responses={201: GrantResponse})
    def post(self, request: Request, name: str) -> Response:
        fields = read_input(GrantInput, request.data)
        grant = grant_role(get_owned_collection(name), **fields)
        return Response(GrantResponse(grant).data, status=201)

    @extend_schema(request=AccessInput, responses={200: AccessResponse})
    def patch(self, request: Request, name: str) -> Response:
        set_public(get_owned_collection(name), **read_input(AccessInput, request.data))
        return Response(_render_access(get_owned_collection(name)))


@endpoint(DELETE=Endpoint("take_back_grant", tag="Collections", summary="Revoke a grant"))
class GrantView(APIView):
    """A grant of a collection."""

    errors: ClassVar[Errors] = {"delete": [CollectionNotFound, GrantNotFound, NotAllowed]}

    @extend_schema(responses={204: None})
    def delete(self, request: Request, name: str, grant_id: int) -> Response:
        revoke_grant(get_owned_collection(name), grant_id)
        return Response(status=204)


def _render_access(collection: Collection) -> Any:
    access = {
        "owner": collection.owner.get_username() if collection.owner else None,
        "is_public": collection.is_public,
        "grants": list_grants(collection),
    }
    return AccessResponse(access).data
