"""Score the same outputs with the publications' own scripts and with pkb's rules.

    python benchmarks/published_rules.py DATA SCRIPTS

DATA has the folders of ``manage.py benchmark``. SCRIPTS has the publications' scripts, unchanged:
``eval_retrieval.py`` (anthropics/anthropic-cookbook, skills/retrieval_augmented_generation),
``evaluate-v1.1.py`` (SQuAD, which PolicyQA scores by) and ``eval_script.py`` (MultiSpanQA, src).
AttributionBench's script calls scikit-learn. Systems' outputs are not published with these sets, so
outputs are made from the gold ones: right, cut, of another question, more or none. Needs no model
and no database. Prints both figures, and exits 1 if any differ.
"""

import runpy
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from sklearn.metrics import f1_score

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluation.benchmarks.rules import (
    count_spans,
    judge_first,
    macro_f1_of_sources,
    spans_f1,
    squad_exact_match,
    squad_f1,
)
from evaluation.datasets import read_dataset, read_rows

SEED = 0
SHARE_WRONG = 0.3
# Of rounding.
TOLERANCE = 1e-9
Figures = Iterator[tuple[str, float, float]]
"""Name, value of the publication's script, value of pkb's rule."""


def compare_search(data: Path, script: Path, random: Random) -> Figures:
    score = runpy.run_path(str(script))["evaluate_retrieval"]
    dataset = read_dataset(data)
    keys = [document.id for document in dataset.documents]
    theirs, ours = [], []
    for query in dataset.queries:
        gold = list(query.relevant)
        found = [*random.sample(gold, random.randint(0, len(gold))), *random.sample(keys, 3)]
        ranking = random.sample(list(dict.fromkeys(found)), len(set(found)))[:3]
        theirs.append(score(ranking, str(gold))[:3])
        ours.append(judge_first(ranking, gold, k=3))
    means = np.mean(theirs, 0), np.mean(ours, 0)
    yield from zip(("precision@3", "recall@3", "MRR@3"), *means, strict=True)


def _make_outputs(gold: Sequence[Sequence[str]], random: Random) -> list[list[str]]:
    """Return outputs for each question: its gold spans, some of them worse."""
    made = []
    for spans in gold:
        outputs = [random.choice(list(spans))[random.randint(0, 4) :]
                   for _ in range(random.randint(0, len(spans)))]  # fmt: skip
        made.append([*outputs, *random.choice(gold)][: random.randint(0, 4)] or list(spans))
    return made


def compare_spans(data: Path, script: Path, random: Random) -> Figures:
    score = runpy.run_path(str(script))["evaluate"]
    questions = read_dataset(data).questions
    outputs = [made[0] for made in _make_outputs([each.answers for each in questions], random)]
    qas = [{"id": q.id, "answers": [{"text": text} for text in q.answers]} for q in questions]
    said = {question.id: output for question, output in zip(questions, outputs, strict=True)}
    theirs = score([{"paragraphs": [{"qas": qas}]}], said)
    for name, key, rule in (("F1", "f1", squad_f1), ("EM", "exact_match", squad_exact_match)):
        own = np.mean([rule(said[question.id], question.answers) for question in questions])
        yield name, theirs[key] / 100, float(own)


def compare_several_spans(data: Path, script: Path, random: Random) -> Figures:
    score = runpy.run_path(str(script))["multi_span_evaluate"]
    questions = read_dataset(data).questions
    outputs = _make_outputs([question.answers for question in questions], random)
    said = {question.id: output for question, output in zip(questions, outputs, strict=True)}
    theirs = score(dict(said), {question.id: question.answers for question in questions})
    for name, key, is_partial in (
        ("exact F1", "em_f1", False), ("partial F1", "overlap_f1", True)
    ):  # fmt: skip
        counts = [count_spans(said[q.id], q.answers, is_partial=is_partial) for q in questions]
        yield name, theirs[key] / 100, spans_f1(np.array(counts))


def compare_claims(data: Path, random: Random) -> Figures:
    rows = list(read_rows(data, "claims"))
    sources = sorted({row.text("source") for row in rows})
    truths = [row.text("label") == "attributable" for row in rows]
    said = [truth != (random.random() < SHARE_WRONG) for truth in truths]
    judged = np.column_stack([[sources.index(row.text("source")) for row in rows], truths, said])
    groups = [judged[judged[:, 0] == source] for source in range(len(sources))]
    theirs = [f1_score(group[:, 1], group[:, 2], average="macro") for group in groups]
    yield "macro-F1", float(np.mean(theirs)), macro_f1_of_sources(judged)


def main() -> None:
    data, scripts = map(Path, sys.argv[1:3])
    random = Random(SEED)  # noqa: S311  (no secret)
    search, spans, several, claims = (
        data / name
        for name in ("anthropic_docs", "policyqa_test", "multispanqa", "attributionbench")
    )
    compared = {
        search.name: compare_search(search, scripts / "eval_retrieval.py", random),
        spans.name: compare_spans(spans, scripts / "evaluate-v1.1.py", random),
        several.name: compare_several_spans(several, scripts / "eval_script.py", random),
        claims.name: compare_claims(claims, random),
    }
    differs = False
    for name, figures in compared.items():
        for figure, theirs, ours in figures:
            print(f"{name}, {figure}: {theirs:.6f} by their script, {ours:.6f} by pkb's rule")
            differs = differs or bool(abs(theirs - ours) > TOLERANCE)
    sys.exit(int(differs))


if __name__ == "__main__":
    main()
