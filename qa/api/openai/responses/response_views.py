from functools import partial
from typing import ClassVar
from uuid import uuid4

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from corpus.access.principal import Scope, bind_principal
from corpus.endpoints import EXAMPLE_QUESTION, Cost, Endpoint, endpoint
from corpus.errors import Errors, ModelNotFound
from qa.api.openai.base_view import EVENT, EVENT_STREAM, OpenAIView, stream_events
from qa.api.openai.chat_answers import answer_messages, find_collection
from qa.api.openai.responses.response_bodies import ResponseInput, ResponseShown
from qa.api.openai.responses.shape import begin_response, stream_response


@endpoint(
    POST=Endpoint(
        "create_response",
        tag="OpenAI",
        summary="Answer a question or a conversation",
        scope=Scope.READ,
        cost=Cost.ANSWER,
        example={"model": "pkb/default", "input": EXAMPLE_QUESTION},
    )
)
class ResponsesView(OpenAIView):
    """Answer the last question from the collection that the model names."""

    errors: ClassVar[Errors] = {"post": [ModelNotFound]}

    @extend_schema(
        request=ResponseInput,
        responses={(200, "application/json"): ResponseShown, (200, EVENT_STREAM): EVENT},
    )
    def post(self, request: Request) -> HttpResponseBase:
        form = ResponseInput(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        collection = find_collection(given["model"])
        answer = bind_principal(
            partial(answer_messages, given["input"], collection=collection, route="responses")
        )
        if given["stream"]:
            shape = begin_response(uuid4().hex, model=given["model"])
            return stream_events(stream_response(answer, shape=shape))
        reply = answer()
        return Response(begin_response(reply.answer_id, model=given["model"]).whole(reply))
