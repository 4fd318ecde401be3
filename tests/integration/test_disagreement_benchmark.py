"""What benchmarks/disagreement.py leaves behind: collections of its own, and nothing else."""

import runpy
from pathlib import Path

from corpus.models import Collection, Document
from evaluation.datasets import DataSet, GoldDocument, GoldQuestion
from qa.models import Answer
from tests.support.documents import BAKERY, LIGHTHOUSE, LIGHTHOUSE_QUESTION

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "disagreement.py"))


def test_it_keeps_no_answer_and_no_copy_and_shares_no_collection() -> None:
    question = GoldQuestion("q1", LIGHTHOUSE_QUESTION, ("Orsolya Quill",), ("d1",))
    documents = (GoldDocument("d1", "Coast", LIGHTHOUSE), GoldDocument("d2", "Bread", BAKERY))
    coast = DataSet("coast", documents, questions=(question,))
    change = SCRIPT["Change"](question, "Orsolya Quill", "Matthis Brandt")
    collections = Collection.objects.exclude(name="default").values_list("name", flat=True)
    before = set(collections)

    report = SCRIPT["_try_copies"](coast, [change], False)

    assert report["copy is newer"]["disagreement shown"]["of"] == 1
    assert not Answer.objects.exists()
    (made,) = set(collections.all()) - before
    assert made.startswith("eval-disagreement-coast-")
    stored = Document.objects.filter(collection__name=made)
    assert sorted(stored.values_list("source_uri", flat=True)) == ["evaluate:d1", "evaluate:d2"]
