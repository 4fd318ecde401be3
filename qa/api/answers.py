"""The doors to what is asked: parse, call, render."""

from typing import ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.errors import CollectionNotFound, Errors
from corpus.models import Collection
from corpus.tags import normalize_tags
from qa.answer_question import answer_question
from qa.api.serializers import (
    AnswerQuery,
    AnswerShown,
    EvaluatedAnswer,
    IndexFound,
    IndexQuery,
    SearchInput,
    SearchOutput,
)
from qa.context import build_context
from qa.search_passages import evaluate_passages, search_passages
from qa.types import Query


class AnswerView(APIView):
    """Answer a question from one collection, with proved citations, or abstain."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound]}

    @extend_schema(parameters=[AnswerQuery], responses={200: EvaluatedAnswer})
    def get(self, request: Request) -> Response:
        query = AnswerQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        given = query.validated_data
        answered = answer_question(
            given["q"],
            collection=given["collection"],
            tags=normalize_tags(given["tag"]),
            k=given.get("k", settings.PKB_RETRIEVAL_K),
            context=build_context(lm=given["lm"]),
        )
        shown = dict(AnswerShown(answered).data)
        if given["eval"]:
            model = Collection.objects.named(given["collection"]).embedding_model
            shown["evaluation"] = evaluate_passages(
                answered.passages, gold=given["gold"], model=model, route="answer"
            )
        return Response(shown)


class SearchView(APIView):
    """Search one collection for passages."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=SearchInput, responses={200: SearchOutput})
    def post(self, request: Request) -> Response:
        form = SearchInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        query = Query(
            given["query"],
            collection=given["collection"],
            tags=normalize_tags(given["tags"]),
            k=given["top_k"],
            filters=given["filters"],
        )
        found = search_passages(
            query,
            mode=given["mode"],
            threshold=given["similarity_threshold"],
            rerank=given.get("rerank", given["mode"] == "hybrid"),
            context=build_context(),
        )
        return Response(SearchOutput(found).data)


class IndexQueryView(APIView):
    """Search one index, reranked."""

    errors: ClassVar[Errors] = {"post": [CollectionNotFound]}

    @extend_schema(request=IndexQuery, responses={200: IndexFound})
    def post(self, request: Request) -> Response:
        form = IndexQuery(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        found = search_passages(
            Query(given["query"], collection=given["index_name"], k=given["top_k"]),
            mode="hybrid",
            threshold=0.0,
            rerank=True,
            context=build_context(),
        )
        body = {"results": found.results, "query": found.query, "index_name": given["index_name"]}
        return Response(IndexFound(body).data)
