"""Measure how the loaders read real files: success, speed and text recall.

    python benchmarks/loaders.py FOLDER [--only PREFIX] [--verbose]
    python benchmarks/loaders.py FOLDER --scans [--pages 20] [--harm 1]

The folder holds ``manifest.jsonl`` (a line a file: path, kind, expected text). Token recall is the
share of the tokens of the expected text, or of the segments that must be there, found in what was
loaded; tokens count as often as they occur.

With ``--scans`` the folder holds PDFs with text, at any depth: of their pages with some hundred
words ``--pages`` are drawn at 150 to 300 dpi and made worse: turned by 1 to 2 degrees, blurred,
given the grain of a scanner and packed as JPEG, the same each time. What stands on them is known
from the PDF's text. ``--harm 3`` makes blur and grain three times as strong.
"""

import argparse
import io
import json
import random
import re
import resource
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from PIL import Image, ImageFilter
from pypdfium2 import PdfDocument, PdfiumError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.errors import PkbError, UnsupportedMediaType
from corpus.loaders import load_file, sandbox
from corpus.loaders.charset import decode

_TOKEN = re.compile(r"\w+")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_LINK = re.compile(r"\]\([^)\s]*\)")
# Not words, but escapes and rules of the expected Markdown.
_ESCAPED = re.compile(r"\\([_*#<>\[\]`.-])")
_MAX_SECONDS = 5.0
_MIN_RECALL = 0.95
_MIN_LOADED = 0.98
# Of the pages that are drawn as scans.
SEED = 17
DPI = (150, 200, 300)
POINTS_PER_INCH = 72
MIN_WORDS, MAX_WORDS = 150, 900
MAX_PAGES_OF_FILE = 60
A4_WIDTH_IN = 8.27


@dataclass
class Outcome:
    """The result of one file."""

    path: str
    kind: str
    format: str
    seconds: float
    result: str  # "loaded", "unsupported", "refused", "crashed"
    reason: str = ""
    recall: float | None = None
    unwanted: tuple[int, int] = (0, 0)


def main() -> int:
    """Load the folder, print the tables, and return 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="files whose path begins so")
    parser.add_argument("--verbose", action="store_true", help="name each file below its target")
    parser.add_argument("--scans", action="store_true")
    parser.add_argument("--pages", type=int, default=20, help="scanned pages to read")
    parser.add_argument("--harm", type=float, default=1.0, help="strength of blur and grain")
    options = parser.parse_args()
    if options.scans:
        measure_scans(options.folder, pages=options.pages, harm=options.harm)
        return 0
    manifest = next(iter(sorted(options.folder.rglob("manifest.jsonl"))))
    entries = [json.loads(line) for line in manifest.read_text("utf-8").splitlines()]
    outcomes = [
        measure(manifest.parent, entry)
        for entry in entries
        if entry["path"].startswith(options.only)
    ]
    report(outcomes, verbose=options.verbose)
    stated = [decoded_as_stated(manifest.parent, entry) for entry in entries]
    _say(f"decoded exactly as stated: {stated.count(True)} of {len(stated) - stated.count(None)}")
    return 0 if targets_met(outcomes) else 1


def measure(folder: Path, entry: dict[str, Any]) -> Outcome:
    """Load one file, and compare the result with the expected text."""
    path = folder / entry["path"]
    content = path.read_bytes()
    outcome = Outcome(entry["path"], entry["kind"], path.suffix.lstrip("."), 0.0, "loaded")
    began = time.perf_counter()
    try:
        document, _ = load_file(content, filename=path.name)
    except UnsupportedMediaType as error:
        outcome.result, outcome.reason = "unsupported", str(error).partition(" Supported")[0]
    except PkbError as error:
        crashed = "in the parser" in str(error) or "the parser was ended" in str(error)
        outcome.result, outcome.reason = ("crashed" if crashed else "refused"), str(error)
    else:
        text = "\n\n".join(block.text for block in document.blocks)
        outcome.recall = recall_of(text, expected_texts(folder, entry))
        unwanted = [_flat(segment) in _flat(text) for segment in entry.get("must_not_contain", ())]
        outcome.unwanted = (sum(unwanted), len(unwanted))
    outcome.seconds = time.perf_counter() - began
    return outcome


def expected_texts(folder: Path, entry: dict[str, Any]) -> list[str]:
    """Return the expected text in parts; none if the manifest has none."""
    if "must_contain" in entry:
        return list(entry["must_contain"])
    if "expected_text" in entry:
        markdown = (folder / entry["expected_text"]).read_text("utf-8")
        return [_ESCAPED.sub(r"\1", _LINK.sub("]", _COMMENT.sub("", markdown)))]
    return []


def decoded_as_stated(folder: Path, entry: dict[str, Any]) -> bool | None:
    """Return whether an old encoding was decoded right, or None if not stated."""
    content = (folder / entry["path"]).read_bytes()
    try:
        expected: str = content.decode(entry.get("expected_encoding", ""))
        return decode(content).lstrip("\ufeff") == expected.lstrip("\ufeff")
    except (LookupError, UnicodeError, PkbError):
        return None


def recall_of(text: str, expected: list[str]) -> float | None:
    """Return the token recall, or None if nothing is expected."""
    wanted = Counter(_tokens(expected))
    if not wanted:
        return None
    found = Counter(_tokens([text]))
    return sum(min(count, found[token]) for token, count in wanted.items()) / wanted.total()


def _tokens(texts: Iterable[str]) -> Iterator[str]:
    import html  # noqa: PLC0415 - the expected files write &lt; and &amp;

    for text in texts:
        yield from _TOKEN.findall(html.unescape(text).replace("\u00ad", "").lower())


def _flat(text: str) -> str:
    return " ".join(text.split())


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def report(outcomes: list[Outcome], *, verbose: bool) -> None:
    """Print a row for each kind and format, then rejections and misses."""
    rows: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        rows[outcome.kind, outcome.format].append(outcome)
    _say(
        "| kind | format | files | loaded | refused | unsupported | crashed | slowest s | recall |"
    )
    _say("|---|---|---|---|---|---|---|---|---|")
    for (kind, name), group in sorted(rows.items()):
        results = Counter(outcome.result for outcome in group)
        recalls = [outcome.recall for outcome in group if outcome.recall is not None]
        recall = f"{mean(recalls):.3f} ({len(recalls)})" if recalls else ""
        counts = " | ".join(
            str(results[name]) for name in ("loaded", "refused", "unsupported", "crashed")
        )
        slowest = max(outcome.seconds for outcome in group)
        _say(f"| {kind} | {name} | {len(group)} | {counts} | {slowest:.2f} | {recall} |")
    unwanted = [outcome.unwanted for outcome in outcomes]
    _say(f"\nunwanted segments: {sum(n for n, _ in unwanted)} of {sum(n for _, n in unwanted)}")
    reasons = Counter(
        re.sub(r"[\d,]+|'[^']*'", "#", outcome.reason) for outcome in outcomes if outcome.reason
    )
    _say("\nReasons:")
    for reason, count in reasons.most_common():
        _say(f"{count:4} {reason}")
    for outcome in outcomes if verbose else ():
        low = outcome.recall is not None and outcome.recall < _MIN_RECALL
        lost = outcome.kind == "normal" and outcome.result != "loaded"
        if low or lost or outcome.seconds > _MAX_SECONDS or outcome.result == "crashed":
            _say(
                f"{outcome.kind} {outcome.path} {outcome.result} {outcome.seconds:.2f}s "
                f"recall={outcome.recall} {outcome.reason}"
            )


def targets_met(outcomes: list[Outcome]) -> bool:
    """Return whether the targets hold: loaded, recall by format, no crash, hostile files."""
    normal = [o for o in outcomes if o.kind == "normal" and o.result != "unsupported"]
    loaded = sum(outcome.result == "loaded" for outcome in normal) / max(len(normal), 1)
    recalls: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.recall is not None:
            recalls[outcome.format].append(outcome.recall)
    low = {name: mean(values) for name, values in recalls.items() if mean(values) < _MIN_RECALL}
    slow = [o.path for o in outcomes if o.kind != "normal" and o.seconds > _MAX_SECONDS]
    crashed = [outcome.path for outcome in outcomes if outcome.result == "crashed"]
    _say(f"\nnormal files of supported formats loaded: {loaded:.3f} of {len(normal)}")
    _say(f"formats below recall {_MIN_RECALL}: {low or 'none'}")
    _say(f"hostile files over {_MAX_SECONDS:g} s: {slow or 'none'}; crashed: {crashed or 'none'}")
    return loaded >= _MIN_LOADED and not low and not slow and not crashed


def measure_scans(folder: Path, *, pages: int, harm: float) -> None:
    """Read pages by OCR, and print the recall and precision of their tokens."""
    chosen = random.Random(SEED)  # noqa: S311 - the same pages each time
    figures = []
    drawn = list(islice(draw_pages(folder, chosen), pages))
    for name, picture, truth in drawn:
        content = worsen(picture, chosen, harm)
        began = time.perf_counter()
        try:
            document, _ = load_file(content, filename="scan.pdf")
        except PkbError as error:
            _say(f"{name}: {error}")
            continue
        seconds = time.perf_counter() - began
        text = "\n".join(block.text for block in document.blocks)
        recall, precision = recall_of(text, [truth]) or 0.0, recall_of(truth, [text]) or 0.0
        figures.append((recall, precision, seconds))
        sure = document.metadata["ocr"]["confidence"]
        _say(f"{name}: recall {recall:.3f} precision {precision:.3f} sure {sure} {seconds:.1f} s")
    _say(f"{len(figures)} of {len(drawn)} pages read")
    names = ("recall", "precision", "seconds")
    for name, values in zip(names, zip(*figures, strict=True), strict=True):
        _say(
            f"{name}: mean {mean(values):.3f}, median {median(values):.3f}, "
            f"from {min(values):.3f} to {max(values):.3f}"
        )
    sandbox._scanners.close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = (used.ru_utime + used.ru_stime) / len(drawn)
    _say(f"{cpu_s:.2f} s of processor time a page; {used.ru_maxrss / 1024:.0f} MiB at most")


def draw_pages(folder: Path, chosen: random.Random) -> Iterator[tuple[str, Image.Image, str]]:
    """Yield pages of ordinary text from the PDFs below a folder, in turn."""
    files = sorted(folder.rglob("*.pdf"))
    candidates = [page for path in files for page in usable_pages(path)]
    chosen.shuffle(candidates)
    seen: Counter[Path] = Counter()
    # One of each file first, then a second of each.
    ordered = []
    for path, number in candidates:
        ordered.append((seen[path], path, number))
        seen[path] += 1
    for _, path, number in sorted(ordered, key=lambda each: each[0]):
        pdf = PdfDocument(path.read_bytes())
        dpi = chosen.choice(DPI)
        page = pdf[number]
        truth = page.get_textpage().get_text_range()
        # A hyphenated word is one: the OCR text joins it like the loader.
        truth = re.sub(r"(?:\ufffe|\x02|-)\s*\r\n", "", truth)
        picture = page.render(scale=dpi / POINTS_PER_INCH).to_pil()
        yield f"{path.stem[:24]}-{number + 1}-{dpi}", picture, truth


def usable_pages(path: Path) -> Iterator[tuple[Path, int]]:
    try:
        pdf = PdfDocument(path.read_bytes())
        for number in range(min(len(pdf), MAX_PAGES_OF_FILE)):
            words = len(pdf[number].get_textpage().get_text_range().split())
            if MIN_WORDS <= words <= MAX_WORDS:
                yield path, number
    except PdfiumError:
        return


def worsen(picture: Image.Image, chosen: random.Random, harm: float) -> bytes:
    """Return a one-page PDF with an image degraded like a bad scan."""
    angle = chosen.choice((-1, 1)) * chosen.uniform(1, 2)
    grey = picture.convert("L").rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    grey = grey.filter(
        ImageFilter.GaussianBlur(harm * chosen.uniform(0.4, 1.0) * picture.width / 1654)
    )
    grain = np.random.default_rng(chosen.randrange(2**32)).normal(0, 12 * harm, grey.size[::-1])
    noisy = Image.fromarray(np.clip(np.asarray(grey) * 0.9 + 10 + grain, 0, 255).astype("uint8"))
    jpeg = io.BytesIO()
    noisy.save(jpeg, "JPEG", quality=chosen.randint(35, 70))
    pdf = io.BytesIO()
    Image.open(jpeg).save(pdf, "PDF", resolution=picture.width / A4_WIDTH_IN)
    return pdf.getvalue()


if __name__ == "__main__":
    sys.exit(main())
