"""An answer is given again exactly as long as nothing has changed that decides it."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as drawn_with
from hypothesis import strategies as st

from corpus.catalogue import create_collection, delete_collection, delete_document
from corpus.errors import DuplicateDocument
from corpus.jobs.kinds.reembed_job import switch_model
from corpus.models import Chunk, Collection, CollectionChange, Document, Embedding, Tag
from corpus.tags import change_tags
from qa.answer_cache import cache
from qa.answer_question import answer_question
from qa.concurrency import Listener
from qa.context import build_context
from qa.models import Answer
from qa.types import AnsweredQuestion
from tests.support.chat_server import (
    Behaviour,
    answers,
    credulous,
    fails,
    language_model,
    statement,
)
from tests.support.client import Api, chat
from tests.support.database import execute, on_another_connection
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION, Ingest, ingest_text_of
from tests.support.doubles import points, recorded_metrics
from tests.support.drawing import examples

# Inside a transaction nothing is kept.
pytestmark = pytest.mark.django_db(transaction=True)

FACT = "Orsolya Quill built the lighthouse at Bavoke in 1874."
NOTE = "The ferry to Orrin leaves at noon, and it takes nine people and one cart."


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def ask(question: str = LIGHTHOUSE_QUESTION, **fields: Any) -> AnsweredQuestion:
    given = {"collection": "default", "k": 5, "context": build_context(), **fields}
    return answer_question(question, **given)


def is_repeated(answered: AnsweredQuestion) -> bool:
    return [step["name"] for step in answered.steps] == ["cache"]


def test_a_repeated_answer_says_the_same_and_is_kept_as_one_of_its_own(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    first, again = ask(), ask(f"  {LIGHTHOUSE_QUESTION.replace(' ', '  ')}\n")
    assert (is_repeated(first), is_repeated(again)) == (False, True)
    assert again.steps[0]["answer_id"] == first.id != again.id
    assert replace(again.answer, question=LIGHTHOUSE_QUESTION) == first.answer
    assert (again.passages, again.searched) == (first.passages, first.searched)
    kept, repeated = (Answer.objects.get(pk=answered.id) for answered in (first, again))
    assert (repeated.text, repeated.confidence) == (kept.text, kept.confidence)
    assert repeated.question == again.answer.question != kept.question
    quotes = [list(row.citations.values_list("quote", flat=True)) for row in (kept, repeated)]
    assert quotes[0] == quotes[1] != []


def document() -> Document:
    return Document.objects.get(title="Bavoke")


CHANGES: dict[str, Callable[[], Any]] = {
    "a document is added": lambda: ingest_text_of(Collection.objects.get())(NOTE),
    "a document is replaced": lambda: ingest_text_of(Collection.objects.get())(
        BAKERY, source_uri="file:///bavoke"
    ),
    "a document is deleted": lambda: delete_document(document().pk),
    "a title changes": lambda: Document.objects.update(title="Coast"),
    "metadata changes": lambda: Document.objects.update(metadata={"year": 1874}),
    "a document gets other tags": lambda: change_tags(document().pk, ["sea"]),
    "a tag gets another name": lambda: Tag.objects.update(name="shore"),
    "a tag is deleted": lambda: Tag.objects.all().delete(),
    "tags are truncated": lambda: execute("TRUNCATE corpus_chunktag"),
    "a chunk changes": lambda: Chunk.objects.update(page=7),
    "chunks are deleted": lambda: Chunk.objects.all().delete(),
    "a vector changes": lambda: Embedding.objects.update(model="other"),
    "vectors are deleted": lambda: Embedding.objects.all().delete(),
    "the collection stems otherwise": lambda: Collection.objects.update(language="simple"),
    "the collection gets another model": lambda: switch_model(
        Collection.objects.get(), "hashing-64"
    ),
}


def test_every_change_makes_the_answer_anew(ingest: Ingest) -> None:
    for name, change in CHANGES.items():
        Document.objects.all().delete()
        Tag.objects.all().delete()
        ingest(LIGHTHOUSE, title="Bavoke", source_uri="file:///bavoke", tags=("coast",))
        ask()
        assert is_repeated(ask()), name
        change()
        assert not is_repeated(ask()), name


def test_a_change_of_one_collection_leaves_the_answers_of_others(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    ask()
    other = create_collection("other", embedding_model="hashing-64")
    ingest_text_of(other)(BAKERY)
    assert is_repeated(ask())
    delete_collection("other")
    assert set(CollectionChange.objects.values_list("collection_id", flat=True)) == set(
        Collection.objects.values_list("pk", flat=True)
    )


def test_what_else_decides_an_answer_is_another_question(ingest: Ingest, settings: Any) -> None:
    ingest(LIGHTHOUSE, tags=("coast",))
    ask()
    assert not is_repeated(ask(k=3))
    assert not is_repeated(ask(tags=["coast"]))
    assert not is_repeated(ask(LIGHTHOUSE_QUESTION.lower()))
    verifier = replace(build_context().verifier, answer_from=0.9)
    assert not is_repeated(ask(context=replace(build_context(), verifier=verifier)))
    settings.PKB_FUSION_ALPHA = 0.25
    assert not is_repeated(ask())
    settings.PKB_FUSION_ALPHA = 0.5
    assert is_repeated(ask())


def test_a_conversation_and_a_selected_text_are_answered_anew(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    session_id = chat().events[-1].body["session_id"]
    again = chat(session_id=session_id).events[-1].body["answer"]
    assert again["debug"]["steps"][0]["name"] == "parse"
    for _ in range(2):
        assert not is_repeated(ask(selected_text=LIGHTHOUSE))


def test_a_repeated_answer_is_streamed_as_the_first_was(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    first, again = chat(), chat()
    assert again.events[-1].body["answer"]["debug"]["steps"][0]["name"] == "cache"
    assert first.kinds == again.kinds == ["chunk", "citation", "done"]
    assert [event.body for event in first.events[:-1]] == [e.body for e in again.events[:-1]]


def test_nothing_of_a_deleted_document_is_kept(ingest: Ingest) -> None:
    stored = ingest(LIGHTHOUSE)
    ask()
    assert len(cache) == 1
    delete_document(UUID(stored.document_id))
    assert len(cache) == 0


def test_what_another_process_has_changed_goes_with_the_next_question(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    create_collection("other", embedding_model="hashing-64")
    ask()
    Document.objects.update(title="Coast")  # no process tells another
    assert len(cache) == 1
    ask("When does the bakery in Lindow open?", collection="other")
    assert cache.collection_ids == {Collection.objects.get(name="other").pk}


class Deleter(Listener):
    """Deletes the documents while an answer from them is made."""

    def __init__(self) -> None:
        self.step_count = 0

    def raise_if_cancelled(self) -> None:
        self.step_count += 1
        if self.step_count == 4:
            on_another_connection(Document.objects.all().delete)


def test_answer_made_while_its_document_is_deleted_is_not_given_again(
    ingest: Ingest,
) -> None:
    ingest(LIGHTHOUSE)
    made = ask(context=replace(build_context(), listener=Deleter()))
    assert "Orsolya" in made.answer.text
    assert Answer.objects.get().kind == "erased"
    assert len(cache) == 0
    again = ask()
    assert not is_repeated(again)
    assert again.answer.abstained


def test_answer_made_before_a_deletion_commits_is_not_given_after(
    ingest: Ingest,
) -> None:
    ingest(LIGHTHOUSE, title="Bavoke")
    with transaction.atomic():
        Document.objects.update(title="Coast")
        on_another_connection(ask)
        assert len(cache) == 1
    assert not is_repeated(ask())


def test_inside_a_transaction_nothing_is_kept_or_repeated(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    ask()
    with transaction.atomic():
        assert not is_repeated(ask())
        Document.objects.all().delete()
        assert ask().answer.abstained
        transaction.set_rollback(True)
    assert is_repeated(ask())


def test_writers_of_one_collection_do_not_wait_for_each_other(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    with transaction.atomic():
        ingest(BAKERY)
        on_another_connection(lambda: ingest(NOTE))
    assert Document.objects.count() == 3
    before = CollectionChange.objects.count()
    ingest("A kite was seen above the north wall of the old town on Sunday.")
    assert CollectionChange.objects.count() < before


def test_a_quote_that_is_not_in_its_document_is_not_given_again(ingest: Ingest) -> None:
    ingest(LIGHTHOUSE)
    ask()
    # As if a change had not been told.
    execute("UPDATE corpus_documentcontent SET text = replace(text, '1874', '1875')")
    assert not is_repeated(ask())


@pytest.mark.parametrize(
    ("behaviour", "repeated"),
    [
        (answers(statement(FACT, "S1.1")), True),
        (answers(), True),
        (answers(statement(FACT, "S1.1"), judge=credulous), False),
        (fails(500), False),
    ],
    ids=["said", "refused", "not believed", "failed"],
)
def test_an_answer_of_a_language_model_is_repeated_unless_it_failed(
    ingest: Ingest, settings: Any, behaviour: Behaviour, *, repeated: bool
) -> None:
    ingest(LIGHTHOUSE)
    with language_model(settings, behaviour) as server:
        first = ask()
        asked_count = len(server.calls)
        again = ask()
        assert is_repeated(again) == repeated
        if repeated:
            assert len(server.calls) == asked_count
            assert first.draft is not None
            assert again.draft == replace(first.draft, prompt_tokens=0, completion_tokens=0)
        keyed = ask(context=build_context(api_key="sk-mine")) if repeated else first
        assert not is_repeated(keyed)


def test_no_answer_is_kept_where_the_setting_is_0(ingest: Ingest, settings: Any) -> None:
    settings.PKB_ANSWER_CACHE = 0
    ingest(LIGHTHOUSE)
    ask()
    assert not is_repeated(ask())


TEXTS = (LIGHTHOUSE, BAKERY, NOTE)
QUESTIONS = (LIGHTHOUSE_QUESTION, "When does the ferry to Orrin leave?")
places = st.integers(0, 1)
steps = st.one_of(
    st.tuples(st.just("put"), places, st.integers(0, len(TEXTS) - 1)),
    st.tuples(st.just("delete"), places, st.just(0)),
    st.tuples(st.just("tag"), places, st.integers(0, 1)),
    st.tuples(st.just("name"), places, st.integers(0, 1)),
    st.tuples(st.just("ask"), st.integers(0, len(QUESTIONS) - 1), st.integers(0, 1)),
)


def take_step(collection: Collection, kind: str, place: int, value: int) -> None:
    if kind == "put":
        # The same content in another document is refused.
        text = f"{TEXTS[value]}\n\nThis is copy number {place} of it."
        with suppress(DuplicateDocument):  # it is there
            ingest_text_of(collection)(text, source_uri=f"note:{place}")
    found = collection.documents.filter(source_uri=f"note:{place}").first()
    if found is None:
        return
    if kind == "delete":
        delete_document(found.pk)
    elif kind == "tag":
        change_tags(found.pk, ["kept"] if value else [])
    elif kind == "name":
        collection.documents.filter(pk=found.pk).update(title=("", "Harbour")[value])


@pytest.mark.slow
@pytest.mark.no_cover
@drawn_with(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taken=st.lists(steps, min_size=3, max_size=12))
def test_whatever_happens_a_kept_answer_is_the_one_that_would_be_made(
    taken: list[tuple[str, int, int]], settings: Any
) -> None:
    settings.PKB_RERANKER_MODEL = "none"
    collection = create_collection(f"c{uuid4().hex}", embedding_model="hashing-64")
    fresh = replace(build_context(), caches_answers=False)
    try:
        for kind, place, value in taken:
            if kind != "ask":
                take_step(collection, kind, place, value)
                continue
            asked = {"collection": collection.name, "tags": ["kept"] if value else []}
            kept, again = (ask(QUESTIONS[place], **asked) for _ in range(2))
            made = ask(QUESTIONS[place], context=fresh, **asked)
            assert is_repeated(again)
            assert kept.answer == again.answer == made.answer
    finally:
        delete_collection(collection.name)


def test_an_answer_that_is_repeated_is_shown_and_counted(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    recorded_metrics()
    first, again = (api.answer() for _ in range(2))
    assert [step["name"] for step in again["debug"]["steps"]] == ["cache"]
    counted = points()["answer.cache"]
    assert {point.attributes["found"] for point in counted} == {False, True}
    told = [{**shown, "id": "", "debug": {}} for shown in (first, again)]
    assert told[0] == told[1]
