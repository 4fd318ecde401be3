"""Endpoints for saved conversations."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import StrictCharField, read_input
from corpus.api.pagination import NewestFirstPagination
from corpus.endpoints import Endpoint, endpoint
from corpus.errors import Errors, SessionNotFound
from qa import models
from qa.answer_record import StoredAnswerShown, stored_answer_records
from qa.models import Session
from qa.sessions import delete_session, find_session, rename_session

MAX_NAME_CHARS = 200


class SessionShown(serializers.ModelSerializer[Session]):
    """A conversation; without a name it is titled by its first question."""

    first_question = serializers.CharField()
    question_count = serializers.IntegerField()

    class Meta:
        model = Session
        fields = [
            "id", "name", "first_question", "question_count", "created_at", "last_used_at",
        ]  # fmt: skip


class WholeSessionShown(SessionShown):
    """A conversation with all questions and answers, oldest first."""

    answers = serializers.SerializerMethodField()

    class Meta(SessionShown.Meta):
        fields = [*SessionShown.Meta.fields, "answers"]

    @extend_schema_field(StoredAnswerShown(many=True))
    def get_answers(self, session: Session) -> Any:
        answers = models.Answer.objects.of_session(session).shown()
        return StoredAnswerShown(stored_answer_records(answers), many=True).data


class SessionsQuery(serializers.Serializer[Any]):
    q = StrictCharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="text that the name, a question or an answer contains",
    )


class SessionInput(serializers.Serializer[Any]):
    name = StrictCharField(max_length=MAX_NAME_CHARS, allow_blank=True)


@endpoint(GET=Endpoint("list_sessions", tag="Ask", summary="List saved chats"))
class SessionsView(generics.ListAPIView[Session]):
    """List saved conversations, newest first."""

    serializer_class = SessionShown
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Session]:
        text = read_input(SessionsQuery, self.request.query_params)["q"]
        rows = Session.objects.listed()
        return rows.mentioning(text) if text else rows

    @extend_schema(parameters=[SessionsQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


@endpoint(
    GET=Endpoint("get_session", tag="Ask", summary="Get a saved chat"),
    PATCH=Endpoint(
        "rename_session",
        tag="Ask",
        summary="Rename a saved chat",
        scope=Scope.READ,
        example={"name": "Lighthouses"},
    ),
    DELETE=Endpoint("delete_session", tag="Ask", summary="Delete a chat", scope=Scope.READ),
)
class SessionView(APIView):
    """Read, rename or delete a saved conversation."""

    errors: ClassVar[Errors] = {
        "get": [SessionNotFound], "patch": [SessionNotFound], "delete": [SessionNotFound],
    }  # fmt: skip

    @extend_schema(responses={200: WholeSessionShown})
    def get(self, request: Request, session_id: UUID) -> Response:
        return Response(WholeSessionShown(find_session(session_id)).data)

    @extend_schema(request=SessionInput, responses={200: SessionShown})
    def patch(self, request: Request, session_id: UUID) -> Response:
        session = rename_session(session_id, **read_input(SessionInput, request.data))
        return Response(SessionShown(session).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, session_id: UUID) -> Response:
        delete_session(session_id)
        return Response(status=204)
