import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith went home. He slept.", ["Dr. Smith went home.", "He slept."]),
        ("It grew by 3.5 percent. Then it fell.", ["It grew by 3.5 percent.", "Then it fell."]),
        ("Use tools, e.g. Django. It works.", ["Use tools, e.g. Django.", "It works."]),
        ("J. R. Tolkien wrote it. I read it.", ["J. R. Tolkien wrote it.", "I read it."]),
        ('He said "Stop!" She went.', ['He said "Stop!"', "She went."]),
        ("# Head\nBody text here.", ["# Head", "Body text here."]),
        ("It ends here\n# Head\nBody.", ["It ends here", "# Head", "Body."]),
        ("Intro:\n- one item\n- two items", ["Intro:", "- one item", "- two items"]),
        ("Steps:\n1. Load it.\n2. Cut it.", ["Steps:", "1. Load it.", "2. Cut it."]),
        ("1.\n\nLoad it.\n\na)\n\nCut it.", ["1.\n\nLoad it.", "a)\n\nCut it."]),
        ("  3. Load it.", ["3. Load it."]),
        ("It is 3. 4. More.", ["It is 3.", "4.", "More."]),
        ("It was in\n1999. He left.", ["It was in", "1999.", "He left."]),
        ("It ends in\n3. \n", ["It ends in", "3."]),
        ("| a | b |\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("A line\nthat goes on. Next.", ["A line\nthat goes on.", "Next."]),
        ("这是第一句。这是第二句！", ["这是第一句。", "这是第二句！"]),
        ("No stop at all", ["No stop at all"]),
        ("  \n ", []),
    ],
)
def test_sentences_are_found(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(st.text(alphabet=st.sampled_from("aB .!?\n#-|1。\"'"), max_size=200))
def test_spans_are_in_order_and_hold_every_character(text: str) -> None:
    covered: set[int] = set()
    last = 0
    for start, end in sentence_spans(text):
        assert last <= start < end <= len(text)
        assert not text[start].isspace()
        assert not text[end - 1].isspace()
        covered |= set(range(start, end))
        last = end
    assert all(char.isspace() or index in covered for index, char in enumerate(text))
