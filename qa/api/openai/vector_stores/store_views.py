from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import CollectionNotFound, Errors
from corpus.models import Collection
from qa.api.openai.base_view import OpenAIView
from qa.api.openai.chat_answers import PREFIX
from qa.api.openai.vector_stores.store_bodies import (
    StoreList,
    StoreResults,
    StoreSearchInput,
    StoreShown,
)
from qa.api.openai.vector_stores.stores import (
    counted_stores,
    find_store,
    search_store,
    show_passage,
    show_store,
)


@endpoint(
    GET=Endpoint("list_vector_stores", tag="OpenAI", summary="List collections as vector stores")
)
class StoresView(OpenAIView):
    """List all collections as vector stores."""

    @extend_schema(responses={200: StoreList})
    def get(self, request: Request) -> Response:
        stores = [show_store(store) for store in counted_stores()]
        ids = [store["id"] for store in stores] or [None]
        body = {"object": "list", "data": stores, "first_id": ids[0], "last_id": ids[-1]}
        return Response({**body, "has_more": False})


@endpoint(
    GET=Endpoint("get_vector_store", tag="OpenAI", summary="Get a collection as a vector store")
)
class StoreView(OpenAIView):
    """Return one collection as a vector store."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}

    @extend_schema(responses={200: StoreShown})
    def get(self, request: Request, store_id: str) -> Response:
        return Response(show_store(find_store(store_id)))


@endpoint(
    POST=Endpoint(
        "search_vector_store",
        tag="OpenAI",
        summary="Search a collection",
        scope=Scope.READ,
        cost=Cost.SEARCH,
        example={"query": "skew between training and serving", "max_num_results": 5},
    )
)
class StoreSearchView(OpenAIView):
    """Search a collection for passages without answering."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=StoreSearchInput, responses={200: StoreResults})
    def post(self, request: Request, store_id: str) -> Response:
        form = StoreSearchInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        ranking = given.get("ranking_options") or {}
        found = search_store(
            given["query"],
            collection=Collection.objects.get_named(store_id.removeprefix(PREFIX)).qualified_name,
            limit=given["max_num_results"],
            filters=given["filters"],
            threshold=ranking.get("score_threshold", 0.0),
            rerank=ranking.get("ranker") != "none",
        )
        body: dict[str, Any] = {
            "object": "vector_store.search_results.page",
            "search_query": given["query"],
            "data": [show_passage(passage) for passage in found],
        }
        return Response({**body, "has_more": False, "next_page": None})
