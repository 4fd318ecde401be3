"""Compare the costs of models in one run: ``python benchmarks/embedders.py``.

Prints items per CPU-second with one thread, which neighbours on the machine disturb least, and
each figure's ratio to sentence-transformers on torch. The models take turns; the best round and
the median are given. Then the wall time of the cross-encoder by threads, and of the tokens of a
large text.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.embedders.colbert import TokenEmbedder
from corpus.embedders.onnx import OnnxEmbedder
from corpus.embedders.sentence_transformer import SentenceTransformerEmbedder
from qa.search.rerankers.cross_encoder_reranker import CrossEncoderReranker

WORDS = (
    "the refund is paid within ten days of a return when goods arrive in their original box and "
    "customers keep the receipt otherwise an exchange may be offered by the manager on duty"
).split()
TOKENS = 84  # 86 with the two special ones
QUERY = "How long does a customer wait for a refund?"
Run = Callable[[Sequence[str]], object]


def main() -> None:
    options = _parse_options()
    texts = _make_texts(options.texts)
    runs = _load_all(options.cache)
    rates = _measure_rates(runs, texts, rounds=options.rounds)
    print(
        f"{len(texts)} texts of {TOKENS + 2} tokens, 1 thread, {options.rounds} rounds; per CPU-s"
    )
    for name, each in rates.items():
        ratio = median(each) / median(rates["MiniLM torch"])
        print(f"{name:30} best {max(each):6.1f}  median {median(each):6.1f} {ratio:6.2f} x torch")
    _print_cross_encoder(texts, rounds=options.rounds)
    _print_token_spans(options.cache, options.megabytes)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--megabytes", type=int, default=20, help="of text, for its tokens")
    default = Path(tempfile.gettempdir(), "pkb-benchmark-models")
    parser.add_argument("--cache", default=str(default), help="where exported graphs are kept")
    return parser.parse_args()


def _make_texts(count: int) -> list[str]:
    """Return texts of exact length: every word is one token."""
    source = random.Random(7)  # noqa: S311  (no secret)
    return [" ".join(source.choices(WORDS, k=TOKENS)) for _ in range(count)]


def _load_all(cache: str) -> dict[str, Run]:
    cross_encoder = CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=1)
    return {
        "MiniLM torch": SentenceTransformerEmbedder("all-MiniLM-L6-v2", threads=1).embed_passages,
        "MiniLM ONNX": OnnxEmbedder("all-MiniLM-L6-v2", cache, threads=1).embed_passages,
        "bge-small ONNX int8": OnnxEmbedder("bge-small-en-v1.5", cache, threads=1).embed_passages,
        "cross-encoder L12 int8, pairs": lambda texts: cross_encoder.score(QUERY, texts),
        "late interaction int8": TokenEmbedder(threads=1).embed_texts,
    }


def _measure_rates(
    runs: dict[str, Run], texts: list[str], *, rounds: int
) -> dict[str, list[float]]:
    """Return texts per CPU-second; each round runs every model under the same load."""
    for run in runs.values():
        run(texts[:8])
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run(texts)
            rates[name].append(len(texts) / (time.process_time() - start))
    return rates


def _print_cross_encoder(texts: list[str], *, rounds: int) -> None:
    rerankers = {
        threads: CrossEncoderReranker("ms-marco-MiniLM-L-12-v2", threads=threads)
        for threads in (1, 2)
    }
    walls: dict[int, list[float]] = {threads: [] for threads in rerankers}
    for _ in range(rounds):
        for threads, reranker in rerankers.items():
            reranker.load()
            start = time.perf_counter()
            reranker.score(QUERY, texts)
            walls[threads].append(len(texts) / (time.perf_counter() - start))
    for threads, rates in walls.items():
        print(f"cross-encoder, {threads} threads, pairs/s by the clock: ", end="")
        print(f"best {max(rates):.1f}  median {median(rates):.1f}")


def _print_token_spans(cache: str, megabytes: int) -> None:
    # Distinct words: repeated ones are tokenized once.
    source = random.Random(7)  # noqa: S311  (no secret)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    rare = ["".join(source.choices(letters, k=7)) for _ in range(50_000)]
    weights = [1 / len(WORDS)] * len(WORDS) + [0.05 / len(rare)] * len(rare)
    words = source.choices(WORDS + rare, weights, k=megabytes * 1_000_000 // 5)
    text = " ".join(words)[: megabytes * 1_000_000]
    start = time.process_time()
    count = len(OnnxEmbedder("all-MiniLM-L6-v2", cache).token_spans(text))
    print(f"token_spans: {len(text)} characters, {count} tokens, ", end="")
    print(f"{time.process_time() - start:.1f} CPU-s")


if __name__ == "__main__":
    main()
