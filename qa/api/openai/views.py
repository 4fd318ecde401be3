"""Views of /v1."""

from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope, bind_principal
from corpus.endpoints import EXAMPLE_QUESTION, EXAMPLE_TEXT, Cost, Endpoint, endpoint
from corpus.errors import Errors, ModelNotFound
from corpus.models import Collection
from qa.api.openai.base_view import EVENT, EVENT_STREAM, OpenAIView, stream_events
from qa.api.openai.chat_answers import PREFIX, answer_messages, find_collection
from qa.api.openai.chat_serializers import (
    ChatCompletion,
    CompletionInput,
    EmbeddingInput,
    EmbeddingList,
    ModelList,
    ModelShown,
    RerankInput,
    RerankOutput,
)
from qa.api.openai.completions import begin_completion, stream_completion
from qa.api.openai.embeddings import as_base64, embed_texts
from qa.api.openai.rerank import rank_texts


def _model(collection: Collection) -> dict[str, Any]:
    return {
        "id": f"{PREFIX}{collection.qualified_name}",
        "object": "model",
        "created": int(collection.created_at.timestamp()),
        "owned_by": "pkb",
    }


@endpoint(GET=Endpoint("list_models", tag="OpenAI", summary="List collections as models"))
class ModelsView(OpenAIView):
    """List the collections as models that answer from them."""

    @extend_schema(responses={200: ModelList})
    def get(self, request: Request) -> Response:
        collections = Collection.objects.select_related("owner").order_by("name")
        return Response({"object": "list", "data": [_model(each) for each in collections]})


@endpoint(GET=Endpoint("get_model", tag="OpenAI", summary="Get a collection as a model"))
class ModelView(OpenAIView):
    """Return one collection as a model."""

    errors: ClassVar[Errors] = {"get": [ModelNotFound]}

    @extend_schema(responses={200: ModelShown})
    def get(self, request: Request, model: str) -> Response:
        return Response(_model(find_collection(model)))


@endpoint(
    POST=Endpoint(
        "create_chat_completion",
        tag="OpenAI",
        summary="Answer a conversation",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={
            "model": "pkb/default",
            "messages": [{"role": "user", "content": EXAMPLE_QUESTION}],
        },
    )
)
class ChatCompletionsView(OpenAIView):
    """Answer the last user message from the collection that the model names."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(
        request=CompletionInput,
        responses={
            (200, "application/json"): ChatCompletion,
            (200, EVENT_STREAM): EVENT,
        },
    )
    def post(self, request: Request) -> HttpResponseBase:
        form = CompletionInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        collection = find_collection(given["model"])
        answer = bind_principal(
            partial(
                answer_messages, given["messages"], collection=collection, route="chat_completions"
            )
        )
        if given["stream"]:
            options = given.get("stream_options") or {}
            events = stream_completion(
                answer,
                completion=begin_completion(uuid4().hex, model=given["model"]),
                with_usage=options.get("include_usage", False),
            )
            return stream_events(events)
        reply = answer()
        completion = begin_completion(reply.answer_id, model=given["model"])
        return Response(completion.whole(reply))


@endpoint(
    POST=Endpoint(
        "create_embeddings",
        tag="OpenAI",
        summary="Embed texts",
        scope=Scope.READ,
        cost=Cost.ENCODE,
        example={"model": "bge-small-en-v1.5+all-MiniLM-L6-v2", "input": ["a text"]},
    )
)
class EmbeddingsView(OpenAIView):
    """Embed texts with a configured model."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(request=EmbeddingInput, responses={200: EmbeddingList})
    def post(self, request: Request) -> Response:
        form = EmbeddingInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        vectors, tokens = embed_texts(
            given["input"], model=given["model"], dimensions=given.get("dimensions")
        )
        is_base64 = given["encoding_format"] == "base64"
        rows = [
            {
                "object": "embedding",
                "index": index,
                "embedding": as_base64(vector) if is_base64 else vector.tolist(),
            }
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        body = {"object": "list", "data": rows, "model": given["model"], "usage": usage}
        return Response(body)


@endpoint(
    POST=Endpoint(
        "rerank",
        tag="OpenAI",
        summary="Rerank texts by a query",
        scope=Scope.READ,
        cost=Cost.ENCODE,
        example={"query": "lighthouse", "documents": ["A bakery opens at five.", EXAMPLE_TEXT]},
    )
)
class RerankView(OpenAIView):
    """Rank texts by relevance to a query."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(request=RerankInput, responses={200: RerankOutput})
    def post(self, request: Request) -> Response:
        form = RerankInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        ranked = rank_texts(given["query"], given["documents"], model=given.get("model") or "")
        with_text = given["return_documents"]
        results = [
            {
                "index": each.index,
                "relevance_score": each.relevance,
                **({"document": {"text": each.text}} if with_text else {}),
            }
            for each in ranked[: given.get("top_n")]
        ]
        meta = {"api_version": {"version": "2"}}
        return Response({"id": str(uuid4()), "results": results, "meta": meta})
