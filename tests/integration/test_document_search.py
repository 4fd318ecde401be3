"""What ``q`` finds in lists of documents: characters of title and address, words of the text."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.catalogue import create_collection
from corpus.models import Document
from tests.support.documents import BAKERY, LIGHTHOUSE, ingest_text_of
from tests.support.drawing import examples

MODEL = "hashing-64"


@pytest.fixture(autouse=True)
def library(db: None) -> None:
    english = create_collection("english", embedding_model=MODEL)
    ingest = ingest_text_of(english)
    ingest(LIGHTHOUSE, title="Coast", source_uri="https://example.com/north/lamp_1.html")
    ingest(BAKERY, title="Bread & 100% rye")
    ingest("东京的灯塔建于一八七四年。" * 4, title="Tokyo")
    german = create_collection("deutsch", embedding_model=MODEL, language="german")
    ingest_text_of(german)("Die Leuchttürme an der Küste wurden errichtet.", title="Türme")


def mentioning(text: str) -> list[str]:
    return sorted(Document.objects.mentioning(text).values_list("title", flat=True))


CASES = {
    "a word": ("lighthouse", ["Coast"]),
    "in any case": ("LightHouse", ["Coast"]),
    "the beginning of a word": ("rapes", ["Coast"]),
    "another form of a word": ("keepers", ["Coast"]),
    "words one after the other": ("black basalt", ["Coast"]),
    "the last of them begun": ("the engineer Orso", ["Coast"]),
    "not in another order": ("basalt black", []),
    "not the words apart": ("lighthouse basalt", []),
    "over what is not indexed": ("stands on black", ["Coast"]),
    "a number": ("1874", ["Coast"]),
    "what is not indexed": ("the", []),
    "characters of a title": ("& 100% r", ["Bread & 100% rye"]),
    "inside a word of a title": ("oas", ["Coast"]),
    "characters of an address": ("NORTH/lamp_", ["Coast"]),
    "a wildcard is a character": ("l%p", []),
    "without spaces between words": ("灯塔", ["Tokyo"]),
    "a character": ("灯", ["Tokyo"]),
    "by the language of its collection": ("Leuchtturm", ["Türme"]),
    "nothing of it": ("volcano", []),
}


def test_documents_that_say_it_are_found() -> None:
    found = {name: mentioning(text) for name, (text, _) in CASES.items()}
    assert found == {name: titles for name, (_, titles) in CASES.items()}


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(max_size=12).filter(lambda text: "\x00" not in text)
    | st.lists(st.sampled_from(["'", '"', "\\", ":*", "&", "|", "!", "<->", "(", "the", "灯"])).map(
        "".join
    )
)
def test_no_text_is_an_operator(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert set(mentioning(text)) <= {"Bread & 100% rye", "Coast", "Tokyo", "Türme"}


def test_texts_are_not_read_to_be_searched() -> None:
    assert "documentcontent" not in str(Document.objects.listed().mentioning("lighthouse").query)
