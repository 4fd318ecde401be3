"""Every operation answers as its OpenAPI document says, whatever it is sent.

Requests go to the application in this process, on real Postgres. The models are the cheap ones
that ship: words hashed into vectors, and a reranker that keeps the order.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from corpus.models import DEFAULT_COLLECTION, Collection, Job
from corpus.rules import add_rule
from corpus.vector_index import ensure_vector_index
from pkb.preload import question_models
from qa.answer_question import answer_question
from qa.context import build_context
from qa.models import Answer
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION, ingest_text_of
from tests.support.doubles import embed_by_hashing
from tests.support.drawing import examples
from tests.support.operations import list_operations

if TYPE_CHECKING:
    from schemathesis import Case

# An operation; two thirds of their time goes into drawing them.
CASES = 2
EMBEDDER = "hashing-64"
# The same cases each time, and no search for smaller ones.
FIXED = settings(
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)

pytestmark = [
    pytest.mark.no_cover,  # it would take half as long again
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume"),
]


@cache
def operations() -> dict[str, Any]:
    """Return the operations of the document, by method and path without the parameters' names."""
    import schemathesis  # noqa: PLC0415 -- seconds, for every process that collects

    schema = schemathesis.openapi.from_wsgi("/schema?format=json", get_wsgi_application())
    found = [each.ok() for each in schema.get_all_operations()]  # type: ignore[union-attr]
    return {re.sub(r"{\w+}", "{}", operation.label): operation for operation in found}


@pytest.fixture
def no_answers_left(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A chat's thread stores its answer on a connection of its own, which commits."""
    yield
    with django_db_blocker.unblock():
        Answer.objects.all().delete()


@pytest.fixture(autouse=True)
def database_access(no_answers_left: None, db: None) -> None:
    """In a transaction that has ended when the answers are deleted."""


@pytest.fixture
def same_connection() -> Iterator[None]:
    """Let requests use the test's own connection, and with it its transaction."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def known(settings: Any, db: None, same_connection: None) -> dict[str, Any]:
    """A value that exists for each name of a path parameter."""
    embed_by_hashing(settings)
    for model in question_models():
        model.load()
    # Postgres makes no index once the transaction holds new rows that refer to others.
    ensure_vector_index(model=EMBEDDER, dimension=64)
    Collection.objects.update(embedding_model=EMBEDDER, dimension=64)
    collection = Collection.objects.get_named(DEFAULT_COLLECTION)
    stored = ingest_text_of(collection)(LIGHTHOUSE, tags=("coast",))
    asked = answer_question(
        LIGHTHOUSE_QUESTION, collection=DEFAULT_COLLECTION, k=5, context=build_context()
    )
    job = Job.objects.create(collection=collection, kind=Job.Kind.SYNC)
    return {
        "document_id": stored.document_id,
        "chunk_id": stored.chunk_ids[0],
        "job_id": str(job.pk),
        "answer_id": asked.id,
        "name": "coast",
        "rule_id": str(add_rule({"name": "a", "words": "basalt", "tags": "stone"}).pk),
        "model": f"pkb/{DEFAULT_COLLECTION}",
        "store_id": DEFAULT_COLLECTION,
    }


def replace_some(case: "Case[Any]", known: dict[str, Any], *, number: int) -> None:
    """Let every second valid path name what exists: a random id never does."""
    parameters = case.path_parameters or {}
    if number % 2 and case.meta and case.meta.generation.mode.is_positive:
        case.path_parameters = {name: known.get(name, parameters[name]) for name in parameters}


@pytest.mark.parametrize("label", list_operations())
def test_an_operation_keeps_its_schema(label: str, known: dict[str, Any]) -> None:
    from schemathesis import GenerationMode  # noqa: PLC0415
    from schemathesis.specs.openapi.checks import (  # noqa: PLC0415
        negative_data_rejection,
        positive_data_acceptance,
    )

    operation = operations()[label]
    valid = operation.as_strategy()
    wrong = operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    numbers = count()
    takes_something = operation.body or operation.query or operation.path_parameters

    @settings(FIXED, max_examples=examples(CASES))
    @given(case=st.one_of(valid, wrong) if takes_something else valid)
    def keeps_its_schema(case: Any) -> None:
        replace_some(case, known, number=next(numbers))
        # A schema cannot say which models are configured, or how one number bounds another.
        left_out: list[Any] = [positive_data_acceptance]
        if not isinstance((case.query or {}).get("tag", []), list):
            left_out.append(negative_data_rejection)  # written into a query it is a list of one
        case.call_and_validate(excluded_checks=left_out)

    keeps_its_schema()


def test_every_operation_is_tried() -> None:
    assert operations().keys() == list_operations().keys()
