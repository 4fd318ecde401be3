"""Answer a conversation, whole or as a stream of events."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from time import time

from asgiref.sync import sync_to_async
from django.conf import settings

from corpus.embedding import get_embedder
from corpus.errors import ModelNotFound, PkbError
from corpus.models import Collection
from qa.asking import answer_question
from qa.openai.conversation import Messages, find_question, read_history
from qa.openai.errors import openai_error
from qa.openai.rendering import DONE, Completion, Piece, as_event, as_pieces, piece_deltas
from qa.ports import build_context

PREFIX = "pkb/"
ROUTE = "chat_completions"


@dataclass(frozen=True, slots=True)
class Reply:
    """What there is to say, and the tokens it took."""

    answer_id: str
    pieces: tuple[Piece, ...]
    usage: dict[str, int]


def find_collection(model: str) -> Collection:
    """Return the collection that is offered as ``model``.

    Raises:
        ModelNotFound: None is.
    """
    name = model.removeprefix(PREFIX)
    found = Collection.objects.filter(name=name).first() if model != name else None
    if found is None:
        raise ModelNotFound(f"There is no model {model!r}; /v1/models lists what there is.")
    return found


def reply_to(messages: Messages, *, collection: Collection) -> Reply:
    """Answer a conversation's question; tokens are counted as the embedding model has them.

    Raises:
        BackendError: A model failed and nothing stands in for it.
    """
    question = find_question(messages)
    asked = answer_question(
        question,
        collection=collection.name,
        k=settings.PKB_RETRIEVAL_K,
        context=build_context(),
        route=ROUTE,
        history=read_history(messages),
    )
    pieces = tuple(as_pieces(asked.answer))
    said = "".join(piece.text for piece in pieces)
    prompt, completion = get_embedder(collection.embedding_model).count_tokens([question, said])
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return Reply(asked.id, pieces, usage)


def begin_completion(answer_id: str, *, model: str) -> Completion:
    return Completion(f"chatcmpl-{answer_id}", int(time()), model)


async def stream_reply(
    answer: Callable[[], Reply], *, completion: Completion, with_usage: bool
) -> AsyncIterator[bytes]:
    """Yield the events of a reply: nothing of the text is said before all of it is proved."""
    yield completion.chunk({"role": "assistant", "content": ""})
    try:
        reply = await sync_to_async(answer)()
    except PkbError as exc:
        problem = {"status": exc.status, "detail": str(exc) or exc.title, "error": exc.code}
        yield as_event(openai_error(problem))
        return
    for delta in piece_deltas(reply.pieces):
        yield completion.chunk(delta)
    yield completion.chunk({}, finish_reason="stop")
    if with_usage:
        yield completion.usage_chunk(reply.usage)
    yield DONE
