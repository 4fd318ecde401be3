"""Endpoints that list collections as models, which answer from them."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.endpoints import Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors, ModelNotFound
from corpus.models import Collection
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.fields import Constant, UnixTimeField

PREFIX = "pkb/"


class ModelShown(serializers.Serializer[Any]):
    id = serializers.SerializerMethodField(help_text="`pkb/<collection>`")
    object = Constant("model")
    created = UnixTimeField(source="created_at")
    owned_by = Constant("pkb")

    def get_id(self, collection: Collection) -> str:
        return f"{PREFIX}{collection.qualified_name}"


class ModelList(serializers.Serializer[Any]):
    object = Constant("list")
    data = ModelShown(many=True)  # type: ignore[assignment]


def find_collection(model: str) -> Collection:
    """Return the collection that is offered as ``model``.

    Raises:
        ModelNotFound: There is no collection of this name.
    """
    name = model.removeprefix(PREFIX)
    try:
        return Collection.objects.get_named(name if model != name else "")
    except CollectionNotFound as exc:
        message = f"There is no model {model!r}; /v1/models lists what there is."
        raise ModelNotFound(message) from exc


@endpoint(GET=Endpoint("list_models", tag="OpenAI", summary="List collections as models"))
class ModelsView(OpenAIView):
    """List the collections as models that answer from them."""

    @extend_schema(responses={200: ModelList})
    def get(self, request: Request) -> Response:
        collections = Collection.objects.select_related("owner").order_by("name")
        return Response(ModelList({"data": collections}).data)


@endpoint(GET=Endpoint("get_model", tag="OpenAI", summary="Get a collection as a model"))
class ModelView(OpenAIView):
    """Return one collection as a model."""

    errors: ClassVar[Errors] = {"get": [ModelNotFound]}

    @extend_schema(responses={200: ModelShown})
    def get(self, request: Request, model: str) -> Response:
        return Response(ModelShown(find_collection(model)).data)
