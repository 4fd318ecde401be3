"""One contract for every reader, and what the trained one promises besides."""

import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import isfinite
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpus.embedders.model_files import packaged_model
from corpus.embedders.tokens import find_token_spans, load_tokenizer
from corpus.errors import BackendError
from pkb import settings as configured
from qa.readers import Reader
from qa.readers.cross_encoder_reader import MAX_LEAD_TOKENS, MAX_SPAN_TOKENS, CrossEncoderReader
from qa.readers.sentence_reader import MAX_SENTENCES, SentenceReader
from qa.search.rerankers import rerankers
from qa.types import Reading
from tests.support.drawing import examples

OPTIONS = configured.PKB_READERS["minilm-l12-reader"]["OPTIONS"] | {"threads": 1}
READERS: dict[str, Callable[[], Reader]] = {
    "cross-encoder": partial(CrossEncoderReader, **OPTIONS),
    "none": SentenceReader,
}
NORMANS = (
    "The Normans were the people who in the 10th and 11th centuries gave their name to Normandy, "
    "a region in France."
)
BACKUPS = (
    "Backups run every night at 02:00 and are kept for 30 days.\nRestoring takes about an hour."
)
QUESTION = "How long are backups kept?"
TEXTS = [
    "Bananas are a yellow fruit.",
    BACKUPS,
    "",
    "日本語のテキスト \U0001f600 naïve",
    "The sky is blue. " * 200,
    "a \ud800 b",
    "\u0301\u200d",
]
LEADS = [
    "Fruit\n",
    "Operations > Backups\n",
    "",
    "How long are backups kept? 30 days.\n",
    "word " * 500,
    "\ud800 \U0001f600",
    "\n",
]
HOSTILE = st.text(
    alphabet=st.one_of(
        st.characters(codec=None),
        st.sampled_from(
            "eé \u0301\u0903\u200d\ufe0f\U0001f1eb\U0001f468\ufffd\x00\r\n\u202eﬁİß東กำ"
        ),
    ),
    max_size=60,
)


@cache
def _built(key: str) -> Reader:
    """The model is slow to load: one of each serves all tests."""
    return READERS[key]()


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    return _built(request.param)


def read_one(question: str, text: str, *, lead: str = "") -> tuple[Reading, str]:
    """Return what the trained reader says of a text, and the span that it marks."""
    (reading,) = _built("cross-encoder").read(question, [text], leads=[lead])
    return reading, text[reading.start : reading.end]


class TestEveryReader:
    def test_a_finite_reading_for_each_text(self, reader: Reader) -> None:
        readings = reader.read(QUESTION, TEXTS)
        assert len(readings) == len(TEXTS)
        for reading, text in zip(readings, TEXTS, strict=True):
            assert isfinite(reading.score)
            assert isfinite(reading.margin)
            assert 0 <= reading.start <= reading.end <= len(text)

    def test_no_texts_give_no_readings(self, reader: Reader) -> None:
        assert reader.read(QUESTION, []) == []
        assert reader.read(QUESTION, [], leads=[]) == []

    def test_a_reading_depends_on_question_and_text_alone(self, reader: Reader) -> None:
        together = reader.read(QUESTION, TEXTS)
        assert reader.read(QUESTION, TEXTS[::-1])[::-1] == together
        assert [reader.read(QUESTION, [text])[0] for text in TEXTS] == together

    def test_a_reading_depends_on_the_text_s_own_lead_alone(self, reader: Reader) -> None:
        together = reader.read(QUESTION, TEXTS, leads=LEADS)
        assert reader.read(QUESTION, TEXTS[::-1], leads=LEADS[::-1])[::-1] == together
        alone = zip(TEXTS, LEADS, strict=True)
        assert [reader.read(QUESTION, [t], leads=[lead])[0] for t, lead in alone] == together

    def test_empty_leads_are_as_none(self, reader: Reader) -> None:
        leads = [""] * len(TEXTS)
        assert reader.read(QUESTION, TEXTS, leads=leads) == reader.read(QUESTION, TEXTS)

    def test_a_text_without_words_has_no_span(self, reader: Reader) -> None:
        for reading in reader.read(QUESTION, ["", " \n", "\u0301"]):
            assert (reading.start, reading.end) == (0, 0)

    def test_any_question_is_taken(self, reader: Reader) -> None:
        for question in ("", "x" * 5000, "word " * 2000, "\U0001f600 東京", "a \ud800 b"):
            assert all(isfinite(each.score) for each in reader.read(question, TEXTS))

    @settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow])
    @given(question=HOSTILE, text=HOSTILE, lead=HOSTILE)
    def test_a_span_lies_in_its_text_and_cuts_no_character(
        self, question: str, text: str, lead: str
    ) -> None:
        for key in READERS:
            (reading,) = _built(key).read(question, [text], leads=[lead])
            assert isfinite(reading.score)
            assert 0 <= reading.start <= reading.end <= len(text)
            for at in (reading.start, reading.end):
                if reading.end > reading.start and 0 < at < len(text):
                    assert not unicodedata.category(text[at]).startswith("M")
                    assert "\u200d" not in text[at - 1 : at + 1]

    @pytest.mark.no_cover  # docs/testing.md
    def test_threads_share_one_reader(self, reader: Reader) -> None:
        expected = reader.read(QUESTION, TEXTS)
        with ThreadPoolExecutor(8) as pool:
            assert all(
                each == expected for each in pool.map(lambda _: reader.read(QUESTION, TEXTS), "12")
            )

    @pytest.mark.parametrize("key", READERS)
    @pytest.mark.no_cover  # docs/testing.md
    def test_first_use_by_many_threads_loads_once(self, key: str) -> None:
        fresh = READERS[key]()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: fresh.read(QUESTION, TEXTS[:1]), range(8)))
        assert fresh.is_loaded
        assert all(each == found[0] for each in found)

    def test_it_has_a_name(self, reader: Reader) -> None:
        assert reader.name


class TestSentenceReader:
    def test_the_most_relevant_sentence_is_marked_and_its_relevance_the_score(self) -> None:
        sentences = ["Bananas are yellow.", "Backups are kept for 30 days.", "The sky is blue."]
        text = "\n".join(sentences)
        (reading,) = SentenceReader().read(QUESTION, [text])
        assert text[reading.start : reading.end] == sentences[1]
        assert (
            reading.score
            == rerankers[django_settings.PKB_JUDGE_MODEL].score(QUESTION, sentences[1:2])[0]
        )
        assert reading.margin == 0

    def test_leads_are_not_read(self) -> None:
        read = SentenceReader().read
        assert read(QUESTION, TEXTS, leads=LEADS) == read(QUESTION, TEXTS)

    def test_a_text_without_words_is_scored_whole(self) -> None:
        (reading,) = SentenceReader().read(QUESTION, ["... !"])
        assert reading == Reading(
            rerankers[django_settings.PKB_JUDGE_MODEL].score(QUESTION, ["... !"])[0], 0, 0, 0.0
        )

    def test_of_a_long_text_the_beginning_is_read(self) -> None:
        filling = "The sky is blue. " * (MAX_SENTENCES - 1)
        for before, is_read in (("", True), ("One more. ", False)):
            (reading,) = SentenceReader().read(QUESTION, [f"{before}{filling}{BACKUPS}"])
            assert (reading.start == len(filling)) is is_read

    def test_its_name_is_that_of_the_setting(self) -> None:
        assert SentenceReader().name == "none"


class TestCrossEncoderReader:
    @pytest.mark.parametrize(
        ("question", "text", "answer"),
        [
            ("In what country is Normandy located?", NORMANS, "France"),
            (QUESTION, f"Operations > Backups\n{BACKUPS}", "30 days"),
        ],
    )
    def test_the_answer_is_marked(self, question: str, text: str, answer: str) -> None:
        reading, span = read_one(question, text)
        assert span == answer
        assert reading.score > 0
        assert reading.margin > 0

    @pytest.mark.parametrize(
        ("question", "text"),
        [
            # To SQuAD 2.0 a question without an answer: the name was given to a region.
            ("Who gave their name to Normandy in the 1000's and 1100's", NORMANS),
            ("Which duke sold Normandy to Spain?", NORMANS),
            ("How do I renew my passport?", BACKUPS),
        ],
    )
    def test_what_is_not_answered_scores_below(self, question: str, text: str) -> None:
        reading, _ = read_one(question, text)
        assert reading.score < 0
        assert reading.margin < 0

    def test_offsets_are_those_of_the_text_as_it_came(self) -> None:
        before = "  \u202eCafe\u0301\x00 \U0001f600 東京\ufffd İ ﬁ\r\n "
        for text in (before + BACKUPS, BACKUPS.replace("30 days", "30\u00a0\u200bdays")):
            _, span = read_one(QUESTION, text)
            assert span.startswith("30")
            assert span.endswith("days")

    def test_accents_stay_on_their_letters(self) -> None:
        for name in ("José", "Jose\u0301", "Jose\u0301\u0323"):
            assert read_one("Who wrote the manual?", f"{name} wrote the manual.")[1] == name

    def test_weights_load_on_first_use(self) -> None:
        fresh = READERS["cross-encoder"]()
        assert not fresh.is_loaded
        fresh.load()
        assert fresh.is_loaded

    def test_a_long_text_is_cut(self) -> None:
        text = "Refunds are paid. " * 200
        (kept, cut) = _built("cross-encoder").read(QUESTION, [text, text + BACKUPS])
        assert kept == cut

    def test_what_is_in_a_lead_is_never_in_a_span(self) -> None:
        _, span = read_one(QUESTION, BACKUPS, lead="Backups are kept for 90 days.\n")
        assert span == "30 days"
        reading, span = read_one(QUESTION, "Bananas are yellow.", lead=BACKUPS)
        assert reading.end <= len("Bananas are yellow.")
        assert "days" not in span
        reading, _ = read_one(QUESTION, "", lead=BACKUPS)
        assert (reading.start, reading.end) == (0, 0)

    def test_a_lead_that_tells_what_the_text_is_of_makes_it_likelier(self) -> None:
        question, text = "When was the mill built?", "It was built in 1874 of grey stone."
        of_it, of_another = (
            read_one(question, text, lead=f"{title}\n") for title in ("The mill", "The school")
        )
        assert of_it[0].score > of_another[0].score + 1
        assert of_it[1] == of_another[1] == "1874"

    def test_a_long_lead_is_cut_and_leaves_room_for_the_text(self) -> None:
        lead = "word " * MAX_LEAD_TOKENS
        reading, span = read_one(QUESTION, BACKUPS, lead=lead)
        assert span == "30 days"
        assert reading == read_one(QUESTION, BACKUPS, lead=f"{lead}bananas " * 9)[0]

    def test_each_of_very_many_texts_has_its_own_lead(self) -> None:
        leads = [f"Shop {number}\n" for number in range(70)]
        readings = _built("cross-encoder").read("Shop 69?", ["It is open."] * 70, leads=leads)
        assert len(readings) == 70
        for number in (0, 63, 64, 69):
            expected, _ = read_one("Shop 69?", "It is open.", lead=leads[number])
            assert readings[number] == expected

    def test_a_long_question_leaves_room_for_the_text(self) -> None:
        reading, span = read_one(QUESTION + " please" * 1000, BACKUPS)
        assert span == "30 days"
        assert reading == read_one(f"{QUESTION}{' please' * 1000} Who?", BACKUPS)[0], (
            "what is behind the limit is read"
        )

    def test_a_span_is_of_few_tokens(self) -> None:
        text = " ".join(f"Item {i} is a thing of some use," for i in range(40))
        reading, span = read_one("What is everything that is listed?", text)
        tokenizer = load_tokenizer(packaged_model("ms-marco-MiniLM-L-12-v2"))
        assert 0 < len(find_token_spans(tokenizer, span)) <= MAX_SPAN_TOKENS
        assert text[reading.start : reading.end] == span

    def test_folder_without_graph_is_a_backend_error(self, tmp_path: Path) -> None:
        with pytest.raises(BackendError, match="cannot be merged"):
            CrossEncoderReader(**OPTIONS | {"model": str(tmp_path)}).load()
