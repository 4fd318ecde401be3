"""Public sets with published figures: where they are, how they are scored, what is comparable.

They only measure. Nothing that trains, fits or chooses may read them: import-linter forbids it to
the code, and a test looks for their names where weights and constants say what they were made from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from evaluation.benchmarks.converters import (
    Convert,
    convert_anthropic_code,
    convert_anthropic_docs,
    convert_attributionbench,
    convert_multispanqa,
    convert_policyqa,
    convert_wikicontradict,
)
from evaluation.benchmarks.measures import (
    Measure,
    measure_claims,
    measure_disagreement,
    measure_search,
    measure_spans,
)

GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A public set.

    Attributes:
        files: SHA-256 of each published file by its path in the GitHub repository.
        published: By figure, the published values by system.
        cited: Where these values are published.
        comparable: Whether pkb's figures and the published ones may be compared, and what differs.
    """

    name: str
    title: str
    licence: str
    repository: str
    commit: str
    files: Mapping[str, str]
    convert: Convert
    measure: Measure
    published: Mapping[str, Mapping[str, float]]
    cited: str
    comparable: str

    def url(self, path: str) -> str:
        return f"{GITHUB}/{self.repository}/{self.commit}/{path}"


_COOKBOOK = "anthropics/anthropic-cookbook"
_COOKBOOK_COMMIT = "4b36a1e1f64361397f4cbe4fbc7cdace338f16f8"
_DOCS = "skills/retrieval_augmented_generation"
_CODE = "skills/contextual-embeddings"


def _published(
    systems: Sequence[str], values: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, float]]:
    """Return by figure the values, which are in the order of the systems, by system."""
    return {figure: dict(zip(systems, each, strict=True)) for figure, each in values.items()}


BENCHMARKS = (
    Benchmark(
        name="anthropic_docs",
        title="Search in Anthropic's documentation",
        licence="MIT",
        repository=_COOKBOOK,
        commit=_COOKBOOK_COMMIT,
        files={
            f"{_DOCS}/data/anthropic_docs.json":
                "8e2b9961dfdf22092f5b326a20185ca8cd8ad57156385182ba6ddceacd4b51eb",
            f"{_DOCS}/evaluation/docs_evaluation_dataset.json":
                "5c91a737d3467c8fd918fe1a962ca630c560ca3975bc104748f35e5165c67ff0",
        },
        convert=convert_anthropic_docs,
        measure=partial(
            measure_search,
            figures={
                "MRR@3": ("reciprocal_rank", 3), "recall@3": ("recall", 3),
                "precision@3": ("precision", 3),
            },
        ),
        published=_published(
            ("vectors", "with summaries by Claude", "and reranked by Claude"),
            {
                "MRR@3": (0.7367, 0.7733, 0.865),
                "recall@3": (0.6592, 0.7142, 0.6933),
                "precision@3": (0.4283, 0.4533, 0.4367),
            },
        ),
        cited=f"{_DOCS}/guide.ipynb",
        comparable="yes",
    ),
    Benchmark(
        name="anthropic_contextual",
        title="Search in code",
        licence="MIT; the code has the licences of nine projects",
        repository=_COOKBOOK,
        commit=_COOKBOOK_COMMIT,
        files={
            f"{_CODE}/data/codebase_chunks.json":
                "70dbed1cb8a90a107b23742b1537051346860f841ec8b03734c1298fa4a34d46",
            f"{_CODE}/data/evaluation_set.jsonl":
                "7186e2bed15547a2ed178134876b29e4abb206bf0394facbe61d58bf835ee073",
        },
        convert=convert_anthropic_code,
        measure=partial(
            measure_search,
            figures={"Pass@5": ("recall", 5), "Pass@10": ("recall", 10), "Pass@20": ("recall", 20)},
        ),
        published=_published(
            ("vectors", "with context by Claude", "and reranked by Cohere"),
            {
                "Pass@5": (0.8092, 0.8637, 0.9124),
                "Pass@10": (0.8715, 0.9281, 0.9479),
                "Pass@20": (0.9006, 0.9378, 0.963),
            },
        ),
        cited=f"{_CODE}/guide.ipynb",
        comparable="yes, with vectors; for the others a language model read the whole files",
    ),
    Benchmark(
        name="policyqa_test",
        title="Words that answer, in privacy policies",
        licence="MIT; policies and answers (OPP-115) for research only",
        repository="wasiahmad/PolicyQA",
        commit="775538bc6d932e9d0dd16975d4373659cf8964fe",
        files={
            "data/test.json": "92929068b7dffa1843f81d661f23da86a64f4a35ffae59fa8d78878277ab9a7f"
        },
        convert=convert_policyqa,
        measure=measure_spans,
        published=_published(
            ("BERT-base, trained on it",), {"F1 of words": (0.553,), "exact match": (0.276,)}
        ),
        cited="README.md",
        comparable="no: pkb's reader was not trained on it",
    ),
    Benchmark(
        name="multispanqa",
        title="Lists of words that answer",
        licence="none stated; questions and texts of Natural Questions, CC BY-SA 3.0",
        repository="haonan-li/MultiSpanQA",
        commit="39f1c2550aabb1b2a0eb7058f641026e9f044956",
        files={
            "data/MultiSpanQA_data/valid.json":
                "9cbb0cfcc88ecbc2cbd6db699676de91b0d6fff11f60d3b9c5472a4f68e1f55a",
        },
        convert=convert_multispanqa,
        measure=partial(measure_spans, several=True),
        published=_published(
            ("BERT-base, trained on it", "RoBERTa-large, trained on it"),
            {"exact F1": (0.5925, 0.6881), "partial F1": (0.7611, 0.8439)},
        ),
        cited="README.md",
        comparable="no: pkb's reader was not trained on it, and marks one span where two or more "
        "are right",
    ),
    Benchmark(
        name="attributionbench",
        title="Claims against what they cite",
        licence="Apache-2.0",
        repository="OSU-NLP-Group/AttributionBench",
        commit="b33329b29946b791649cf66d33e10b5a5bbdc44d",
        files={
            "data/dev_all_subset_balanced.jsonl":
                "a744d1f84e621015f7a7e1941c3fb3f0838be767645dfb2ec784efd3133ab7d6",
        },
        convert=convert_attributionbench,
        measure=measure_claims,
        published=_published(
            ("GPT-3.5, trained on it",),
            {"macro-F1, supported": (0.8,), "macro-F1, supported or partial": (0.8,)},
        ),
        cited="arXiv 2402.15089, abstract: about 80 %",
        comparable="no: pkb was not trained on it, the published figure is of the test part, and "
        "this part was measured before and after a rule was changed (benchmarks/results/claims.md)",
    ),
    Benchmark(
        name="wikicontradict",
        title="Passages that contradict each other",
        licence="MIT; texts of Wikipedia, CC BY-SA",
        repository="IBM/FactReasoner",
        commit="586b4ef811af1caf8e34be277f6122ba35b28386",
        files={
            "data/wiki_contradict_refined.jsonl":
                "9c4204de250d6b803e10cbc9fba05f743e87931ab678e314d4de44ea93302ea3",
            "data/wikicontradict.json":
                "e74d2761197d3df6c86a83f6d7c99c9df90b66edbf081fa6e253e8965e5928ef",
        },
        convert=convert_wikicontradict,
        measure=measure_disagreement,
        published=_published(
            ("GPT-4", "Llama-3-70B", "GPT-4, told to look", "Llama-3-70B, told to look"),
            {"both sides told": (0.062, 0.104, 0.104, 0.438)},
        ),
        cited="data/WikiContradict_HumanEval_adjudication.json: 48 questions, judged by people",
        comparable="nearly: pkb gets the 202 pairs of two passages, and tells both sides if it "
        "shows the other passage as a disagreement; it was measured before and after a rule was "
        "changed",
    ),
)  # fmt: skip

# Public sets that measure nothing here, and why.
LEFT_OUT = {
    "SQuAD 2.0": "the reader was trained on its development part",
    "MTRAG-UN": "the reader was trained on its development part",
    "SciFact": "the claim check was fitted on its claims",
    "COVID FAQ": "the defaults of search were chosen by it",
    "TAT-QA": "it was measured while the rules of calculation were written",
    "FinanceBench": "people have to judge its answers",
}
