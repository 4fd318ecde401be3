"""Measure double questions: ``python benchmarks/question_parts.py FOLDER [--pairs N]``.

FOLDER is a data set of ``manage.py evaluate``. Two of its answerable questions are put together to
one, as often as asked for. Prints for each way, part by part and the question as a whole: how many
were answered, said both right answers, said at least one, and the words of an answer.
"""

import argparse
import os
import random
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")

import django

django.setup()

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402
from evaluation.datasets import DataSet, GoldQuestion, read_dataset  # noqa: E402
from evaluation.index import index_dataset  # noqa: E402
from evaluation.metrics import contains_gold  # noqa: E402
from qa import models  # noqa: E402
from qa.answer_question import answer_question  # noqa: E402
from qa.context import build_context  # noqa: E402
from qa.intent import split_question  # noqa: E402

Pair = tuple[GoldQuestion, GoldQuestion]


def main() -> None:
    options = _parse_options()
    dataset = read_dataset(options.folder)
    indexed = index_dataset(dataset, fresh=False, progress=lambda done, total: None)
    pairs = _pair_questions(dataset, options.pairs)
    print(f"{dataset.name}: {len(pairs)} questions of two")
    for name, how in (("part by part", split_question), ("as a whole", lambda text: ())):
        with patch("qa.intent.split_question", how):
            texts = [_ask(pair, indexed.collection.name) for pair in pairs]
        _print_row(name, pairs, texts)


def _pair_questions(dataset: DataSet, count: int) -> list[Pair]:
    single = [
        question
        for question in dataset.questions
        if question.answers and question.text.count("?") == 1 and question.text.endswith("?")
    ]
    random.Random(1).shuffle(single)  # noqa: S311  (a sample)
    return list(zip(single[::2], single[1::2], strict=False))[:count]


def _ask(pair: Pair, collection: str) -> str:
    answered = answer_question(
        " ".join(question.text for question in pair),
        collection=collection,
        k=12,
        # Else the second run would get cached answers of the first.
        context=replace(build_context(), caches_answers=False),
        route="evaluate",
    )
    models.Answer.objects.filter(pk=UUID(answered.id)).delete()
    return answered.answer.text


def _print_row(name: str, pairs: list[Pair], texts: list[str]) -> None:
    told = [
        sum(contains_gold(text, question.answers) for question in pair)
        for pair, text in zip(pairs, texts, strict=True)
    ]
    given = [text for text in texts if text]
    words = sum(len(text.split()) for text in given) / max(len(given), 1)
    both, one = sum(count == len(pairs[0]) for count in told), sum(count > 0 for count in told)
    print(f"{name:>12}: {len(given)} answered, {both} both, {one} at least one, {words:.0f} words")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=60)
    return parser.parse_args()


if __name__ == "__main__":
    with acting_as(SYSTEM):
        main()
