"""Slips of spelling are corrected by the words of the collection, and nothing else is changed."""

import pytest

from corpus.catalogue import create_collection
from corpus.models import Collection, Document
from qa.search.spelling import correct_spelling, undo_slips
from tests.support.client import Api
from tests.support.documents import LIGHTHOUSE, Ingest, ingest_text_of

VILLAGE = "Rapeseed oil for the zarnikel is stored in the granary, next to the certificates."
SLIP = "Who wound the clokcwork of the lighthosue?"


@pytest.fixture
def words(ingest: Ingest, collection: Collection) -> Collection:
    ingest(LIGHTHOUSE)
    ingest(VILLAGE)
    return collection


@pytest.mark.parametrize(
    ("asked", "read_as"),
    [
        ("swapped clokcwork", "swapped clockwork"),
        ("missed rapseed, granry", "missed rapeseed, granary"),
        ("twice (lighthhouse)?", "twice (lighthouse)?"),
        ("near key: clockwprk", "near key: clockwork"),
        ("vowel: certificetes", "vowel: certificates"),
        ("the lighthosue's keepers", "the lighthouse's keepers"),
        ("Lighthosue keepers", "Lighthouse keepers"),
        ("a name: the lighthouse at Bavkoe", "a name: the lighthouse at Bavoke"),
        ("short: its lmap", "short: its lamp"),
        ("a word that no model has: zarnkel", "a word that no model has: zarnikel"),
    ],
)
def test_one_slip_is_corrected(words: Collection, asked: str, read_as: str) -> None:
    corrected, corrections = correct_spelling(asked, [words])
    assert corrected == read_as
    assert len(corrections) == read_as.count(",") + 1


@pytest.mark.parametrize(
    "asked",
    [
        "Who climbs the 212 steps of the lighthouse?",
        "a name, and not swapped: Meister Granry",
        "an acronym: GRANRY",
        'in quotes: "the granry wall"',
        "code: granry_1 granry.py /granry granry()",
        "known to the model: grandly lighthouses",
        "two slips: granrry, lihgthosue",
        "another first letter: hranary",
        "short, and not swapped: the towr",
        "of another subject: raplaced zarnkels abuot granries",
    ],
)
def test_what_may_be_meant_stays(words: Collection, asked: str) -> None:
    assert correct_spelling(asked, [words]) == (asked, ())


def test_other_languages_stay(words: Collection) -> None:
    german = create_collection("german", embedding_model=words.embedding_model, language="german")
    ingest_text_of(german)("Der Speicher steht am Hafen, und darin liegt das Zertifikat.")
    assert correct_spelling("das Zertifkat, zertifkat", [german]) == (
        "das Zertifkat, zertifkat",
        (),
    )


def test_words_of_deleted_documents_are_not_proposed(words: Collection) -> None:
    Document.objects.filter(collection=words).delete()
    assert correct_spelling(SLIP, [words]) == (SLIP, ())


def test_an_inflection_is_no_slip() -> None:
    words = dict(undo_slips("loader"))
    assert {"leader", "laoder", "loadear"} <= words.keys()
    assert not {"loaded", "oader", "roader"} & words.keys()


def test_only_words_of_the_asked_collection_are_proposed(api: Api) -> None:
    for name, text in (
        ("ours", "Nothing of this is told in the only text of this collection."),
        ("theirs", LIGHTHOUSE),
    ):
        api.post("/create", {"index_name": name})
        api.post("/ingest", {"text": text, "collection": name})
    assert api.answer(SLIP, collection="ours")["corrections"] == []
    assert len(api.answer(SLIP, collection="theirs")["corrections"]) == 2


def test_every_interface_says_how_a_word_was_read(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    corrections = [
        {"word": "clokcwork", "read_as": "clockwork"},
        {"word": "lighthosue", "read_as": "lighthouse"},
    ]
    answer, again = api.answer(SLIP), api.answer(SLIP)
    assert answer["question"] == again["question"] == SLIP
    assert answer["corrections"] == again["corrections"] == corrections
    assert api.get(f"/answers/{answer['id']}").json()["corrections"] == corrections
    search = api.post("/search", {"query": SLIP}).json()
    assert (search["query"], search["corrections"]) == (SLIP, corrections)
    assert "corrections" not in api.post("/search", {"query": "clockwork"}).json()
    said = "Read <em>clokcwork</em> as <em>clockwork</em>."
    assert said in api.page("/ui/search", q=SLIP)
    assert said in api.page(f"/ui/answers/{answer['id']}")


def test_a_selected_text_may_have_words_of_its_own(api: Api) -> None:
    api.ingest(LIGHTHOUSE)
    answer = api.ask("What is a clokcwork?", selected_text="A clokcwork is a kind of bird.")
    assert answer["corrections"] == []
