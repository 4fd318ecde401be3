from itertools import pairwise
from typing import Any

import pytest
from django.conf import settings

from corpus.embedders import get_embedder
from corpus.models import Collection
from tests.support.client import Api
from tests.support.documents import long_text


def make(api: Api, **chunking: Any) -> Any:
    return api.post("/collections", {"name": "notes", "chunking": chunking})


def change(api: Api, **chunking: Any) -> Any:
    return api.patch("/collections/notes", {"chunking": chunking})


def test_a_new_collection_cuts_by_kind_of_document(api: Api) -> None:
    shown = make(api).json()["chunking"]
    assert (shown["strategy"], shown["unit"], shown["overlap"]) == ("auto", "tokens", 0)
    assert shown["overlap_sentences"] == 1


def test_recursive_splitting_has_its_own_defaults(api: Api) -> None:
    assert make(api, strategy="recursive").json()["chunking"] == {
        "strategy": "recursive",
        "size": 512,
        "overlap": 64,
        "overlap_sentences": 0,
        "unit": "characters",
    }


STRATEGIES = [strategy.value for strategy in Collection.Strategy]
UNITS = [unit.value for unit in Collection.Unit]


@pytest.mark.parametrize(
    ("strategy", "unit", "size", "overlap"),
    [(strategy, unit, 500, 50) for strategy in STRATEGIES for unit in UNITS]
    + [(strategy, "characters", 800, 200) for strategy in STRATEGIES],
)
def test_sizes_and_overlaps_are_kept_and_followed(
    api: Api, strategy: str, unit: str, size: int, overlap: int
) -> None:
    asked = {"strategy": strategy, "size": size, "overlap": overlap, "unit": unit}
    made = make(api, **asked)
    assert made.status_code == 201
    assert made.json()["chunking"].items() >= asked.items()
    body = {"text": long_text(9), "collection": "notes"}
    document_id = api.post("/ingest", body).json()["document_id"]
    chunks = api.get(f"/documents/{document_id}/chunks", {"limit": 200}).json()["results"]
    assert len(chunks) > 2
    assert (
        max(chunk["token_count"] for chunk in chunks)
        <= get_embedder(settings.PKB_EMBEDDING_MODEL).max_tokens
    )
    if unit == "characters":
        assert max(len(chunk["text"]) for chunk in chunks) <= size
    assert any(b["start_char"] < a["end_char"] for a, b in pairwise(chunks))


def test_patch_changes_what_it_names(api: Api) -> None:
    made = make(api).json()["chunking"]
    changed = change(api, size=150, overlap=20).json()["chunking"]
    assert changed == {**made, "size": 150, "overlap": 20}
    assert api.get("/collections/notes").json()["chunking"] == changed


def test_a_new_strategy_brings_its_defaults_along(api: Api) -> None:
    make(api, size=100)
    changed = change(api, strategy="recursive").json()["chunking"]
    assert (changed["size"], changed["unit"]) == (512, "characters")
    assert change(api, strategy="sentence").json()["chunking"]["unit"] == "tokens"


def test_a_changed_collection_cuts_the_next_document_its_way(api: Api) -> None:
    make(api)
    change(api, strategy="recursive", size=200, overlap=0)
    body = {"text": long_text(2), "collection": "notes"}
    stored = api.post("/ingest", body).json()
    chunks = api.get(f"/documents/{stored['document_id']}/chunks").json()["results"]
    assert max(len(chunk["text"]) for chunk in chunks) <= 200


@pytest.mark.parametrize(
    ("chunking", "field"),
    [
        ({"strategy": "magic"}, "chunking.strategy"),
        ({"unit": "words"}, "chunking.unit"),
        ({"size": 0}, "chunking.size"),
        ({"size": 9_000}, "chunking.size"),
        ({"size": "many"}, "chunking.size"),
        ({"size": 50, "unit": "characters"}, "chunking.size"),
        ({"unit": "characters"}, "chunking.size"),
        ({"overlap": -1}, "chunking.overlap"),
        ({"size": 100, "overlap": 51}, "chunking.overlap"),
        ({"overlap_sentences": 11}, "chunking.overlap_sentences"),
        ({"strategy": "semantic", "overlap_sentences": 1}, "chunking.overlap_sentences"),
    ],
)
def test_settings_that_do_not_go_together_are_named(
    api: Api, chunking: dict[str, Any], field: str
) -> None:
    refused = make(api, **chunking)
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == [field]
    assert not Collection.objects.filter(name="notes").exists()
    make(api)
    assert change(api, **chunking).status_code == 400


def test_a_smaller_size_is_checked_against_the_overlap_there_is(api: Api) -> None:
    make(api, size=400, overlap=200)
    refused = change(api, size=100)
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["field"] == "chunking.overlap"
