"""Endpoints of standing questions, which are asked again when the documents change."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import StrictBooleanField, read_input
from corpus.api.pagination import NewestFirstPagination
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import AnswerNotFound, Errors, StandingQuestionNotFound
from qa.models import Answer, StandingQuestion
from qa.standing_questions import find_standing_question, get_or_create_standing_question


class StandingAnswer(serializers.Serializer[Any]):
    """A stored answer in short; ``GET /answers/{id}`` shows all of it."""

    answer_id = serializers.UUIDField(source="pk")
    kind = serializers.ChoiceField(Answer.Kind.choices)
    quotes = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_quotes(self, answer: Answer) -> list[str]:
        return [citation.quote for citation in answer.citations.all()]


class StandingQuestionShown(serializers.ModelSerializer[StandingQuestion]):
    collection = serializers.CharField(source="collection.qualified_name")
    tags = serializers.ListField(child=serializers.CharField())
    answer = StandingAnswer(allow_null=True)
    previous = StandingAnswer(allow_null=True, help_text="before the last change")
    changed_at = serializers.DateTimeField(allow_null=True, help_text="null: never")

    class Meta:
        model = StandingQuestion
        fields = [
            "id", "question", "collection", "tags", "answer", "previous", "changed_at", "is_seen",
            "created_at",
        ]  # fmt: skip


class StandingQuestionInput(serializers.Serializer[Any]):
    answer_id = serializers.UUIDField(help_text="of a question that you asked")


class StandingQuestionUpdate(serializers.Serializer[Any]):
    is_seen = StrictBooleanField()


@endpoint(
    GET=Endpoint("list_standing_questions", tag="Ask", summary="List standing questions"),
    POST=Endpoint(
        "create_standing_question",
        tag="Ask",
        summary="Ask a question again when documents change",
        scope=Scope.READ,
        example={"answer_id": "3f795d47-5c1e-4a4b-9c3e-8f1d1f0e9a57"},
    ),
)
class StandingQuestionsView(generics.ListAPIView[StandingQuestion]):
    """List your standing questions, newest first; add one."""

    errors: ClassVar[Errors] = {"post": [AnswerNotFound]}
    queryset = StandingQuestion.objects.select_related("collection__owner").prefetch_related(
        "answer__citations", "previous__citations"
    )
    serializer_class = StandingQuestionShown
    pagination_class = NewestFirstPagination

    @extend_schema(request=StandingQuestionInput, responses={201: StandingQuestionShown})
    def post(self, request: Request) -> Response:
        standing = get_or_create_standing_question(
            **read_input(StandingQuestionInput, request.data)
        )
        return Response(StandingQuestionShown(standing).data, status=201)


@endpoint(
    GET=Endpoint("get_standing_question", tag="Ask", summary="Get a standing question"),
    PATCH=Endpoint(
        "change_standing_question",
        tag="Ask",
        summary="Say that you have seen a change",
        scope=Scope.READ,
        example={"is_seen": True},
    ),
    DELETE=Endpoint(
        "delete_standing_question",
        tag="Ask",
        summary="Stop asking a question",
        scope=Scope.READ,
    ),
)
class StandingQuestionView(APIView):
    """Show, change or delete one of your standing questions."""

    errors: ClassVar[Errors] = {
        "get": [StandingQuestionNotFound],
        "patch": [StandingQuestionNotFound],
        "delete": [StandingQuestionNotFound],
    }

    @extend_schema(responses={200: StandingQuestionShown})
    def get(self, request: Request, question_id: UUID) -> Response:
        return Response(StandingQuestionShown(find_standing_question(question_id)).data)

    @extend_schema(request=StandingQuestionUpdate, responses={200: StandingQuestionShown})
    def patch(self, request: Request, question_id: UUID) -> Response:
        standing = find_standing_question(question_id)
        standing.is_seen = read_input(StandingQuestionUpdate, request.data)["is_seen"]
        standing.save(update_fields=["is_seen"])
        return Response(StandingQuestionShown(standing).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, question_id: UUID) -> Response:
        find_standing_question(question_id).delete()
        return Response(status=204)
