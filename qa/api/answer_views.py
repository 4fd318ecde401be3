"""Endpoints for answers: ask, read a stored answer, give feedback."""

from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from corpus.access.principal import Scope
from corpus.api.fields import (
    AskedNameField,
    StrictCharField,
    StrictIntegerField,
    TagListField,
    read_input,
)
from corpus.endpoints import Cost, Endpoint, endpoint
from corpus.errors import AnswerNotFound, CollectionNotFound, DocumentNotFound, Errors
from corpus.models import DEFAULT_COLLECTION, Collection
from qa.answer_question import answer_question
from qa.answer_record import AnswerShown, StoredAnswerShown, find_answer_record, new_answer_record
from qa.context import build_context
from qa.feedback import MarkedSpan, give_feedback
from qa.models import Feedback
from qa.search_passages import evaluate_passages

MAX_COMMENT_CHARS = 5_000
MAX_K = 50
# The maximum of a position column.
MAX_POSITION = 2**31 - 1


class AnswerQuery(serializers.Serializer[Any]):
    q = StrictCharField(max_length=2_000)
    k = serializers.IntegerField(
        min_value=1,
        required=False,
        help_text="number of passages to consider; values above 50 count as 50",
    )
    collection = AskedNameField(default=DEFAULT_COLLECTION, help_text="`*` asks all collections")
    tag = TagListField(default=tuple)
    document_id = serializers.UUIDField(
        default=None, help_text="answer only from this document, whatever its collection"
    )
    eval = serializers.BooleanField(default=False)
    gold = serializers.ListField(
        child=StrictCharField(max_length=200), default=list, max_length=1_000
    )
    lm = StrictCharField(max_length=200, default="", allow_blank=True)

    def validate_k(self, value: int) -> int:
        return min(value, MAX_K)


class Evaluation(serializers.Serializer[Any]):
    hit_rate_at_k = serializers.FloatField(allow_null=True)
    mean_score_top1 = serializers.FloatField(allow_null=True)
    mean_score_topk = serializers.FloatField(allow_null=True)


class EvaluatedAnswer(AnswerShown):
    evaluation = Evaluation(required=False)


class MarkedPassage(serializers.Serializer[Any]):
    """A passage that the answer shows, by document and span."""

    document_id = serializers.UUIDField()
    start_char = StrictIntegerField(min_value=0, max_value=MAX_POSITION)
    end_char = StrictIntegerField(min_value=1, max_value=MAX_POSITION)


class FeedbackInput(serializers.Serializer[Any]):
    rating = serializers.ChoiceField(Feedback.Rating.choices)
    comment = StrictCharField(max_length=MAX_COMMENT_CHARS, default="", allow_blank=True)
    passage = MarkedPassage(default=None, allow_null=True)


class FeedbackShown(serializers.ModelSerializer[Feedback]):
    passage = serializers.SerializerMethodField()

    class Meta:
        model = Feedback
        fields = ["id", "answer_id", "rating", "comment", "passage", "created_at"]

    @extend_schema_field(MarkedPassage(allow_null=True))
    def get_passage(self, feedback: Feedback) -> dict[str, Any] | None:
        is_marked = feedback.start_char is not None
        return MarkedPassage(feedback).data if is_marked else None


@endpoint(
    GET=Endpoint("answer", tag="Ask", summary="Answer a question", cost=Cost.ANSWER, writes=True)
)
class AnswerView(APIView):
    """Answer a question with verified citations, or abstain."""

    errors: ClassVar[Errors] = {"get": [CollectionNotFound, DocumentNotFound]}

    @extend_schema(parameters=[AnswerQuery], responses={200: EvaluatedAnswer})
    def get(self, request: Request) -> Response:
        fields = read_input(AnswerQuery, request.query_params)
        answered = answer_question(
            fields["q"],
            collection=fields["collection"],
            tags=fields["tag"],
            document_id=fields["document_id"],
            k=fields.get("k", settings.PKB_RETRIEVAL_K),
            context=build_context(lm=fields["lm"]),
        )
        body = dict(AnswerShown(new_answer_record(answered)).data)
        if fields["eval"]:
            model = Collection.objects.get_asked(fields["collection"])[0].embedding_model
            body["evaluation"] = evaluate_passages(
                answered.passages, gold=fields["gold"], model=model, route="answer"
            )
        return Response(body)


@endpoint(GET=Endpoint("get_answer", tag="Ask", summary="Get a stored answer"))
class StoredAnswerView(APIView):
    """Return a stored answer; each citation says whether its quote is still current."""

    errors: ClassVar[Errors] = {"get": [AnswerNotFound]}

    @extend_schema(responses={200: StoredAnswerShown})
    def get(self, request: Request, answer_id: UUID) -> Response:
        return Response(StoredAnswerShown(find_answer_record(answer_id)).data)


@endpoint(
    POST=Endpoint(
        "give_feedback",
        tag="Ask",
        summary="Rate an answer",
        scope=Scope.READ,
        example={"rating": "up"},
    )
)
class FeedbackView(APIView):
    """Rate an answer, or mark the passage that answers."""

    errors: ClassVar[Errors] = {"post": [AnswerNotFound]}

    @extend_schema(request=FeedbackInput, responses={201: FeedbackShown})
    def post(self, request: Request, answer_id: UUID) -> Response:
        fields = read_input(FeedbackInput, request.data)
        passage = fields["passage"] and MarkedSpan(**fields["passage"])
        feedback = give_feedback(answer_id, **{**fields, "passage": passage})
        return Response(FeedbackShown(feedback).data, status=201)
