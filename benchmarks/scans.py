"""Measure OCR of scanned pages: recall, time, memory and confidence.

    PYTHONPATH=. .venv/bin/python benchmarks/scans.py DATA [--pages 20] [--harm 1] [--languages]

DATA holds PDFs with text, at any depth: of their pages with some hundred words ``--pages`` are
drawn at 150 to 300 dpi and made worse: turned by 1 to 2 degrees, blurred, given the grain of a
scanner and packed as JPEG, the same each time. What stands on them is known from the PDF's text.
Recall and precision are those of its tokens, as often as they occur.

With ``--harm 3`` blur and grain are three times as strong. With ``--languages`` DATA is a folder of
texts, set on pages in DejaVu Sans. With ``--finding PIXELS`` lines are looked for in pictures of so
many.
"""

import argparse
import io
import random
import re
import resource
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from pypdfium2 import PdfDocument, PdfiumError

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import itertools

from corpus.characters import fold_text
from corpus.errors import PkbError
from corpus.loaders import load_file, sandbox
from corpus.loaders.blocks import LoadedDocument
from corpus.loaders.formats.pdf_loader import picture_of
from corpus.loaders.ocr import engine
from corpus.loaders.ocr import scans as ocr_scans

SEED = 17
DPI = (150, 200, 300)
POINTS_PER_INCH = 72
MIN_WORDS, MOST_WORDS = 150, 900
TOKEN = re.compile(r"\w+")
# Confidence steps, from which the warning threshold was chosen.
STEPS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 1.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--languages", action="store_true")
    parser.add_argument("--harm", type=float, default=1.0)
    parser.add_argument("--finding", type=int, help="pixels; pages are read in this process")
    parser.add_argument("--keep", type=Path, help="folder in which the pages are kept")
    options = parser.parse_args()
    chosen = random.Random(SEED)  # noqa: S311 - the same pages each time
    made = set_texts(options.folder) if options.languages else drawn(options.folder, chosen)
    pages = [page for page, _ in zip(made, range(options.pages), strict=False)]
    lines: list[tuple[float, float]] = []
    if options.finding:
        read_here(options.finding)
    figures = []
    for name, picture, truth in pages:
        content = worsened(picture, chosen, options.harm)
        if options.keep:
            (options.keep / f"{name}.pdf").write_bytes(content)
        figures.append(measure(name, content, truth, lines))
    found = [figure for figure in figures if figure]
    print(f"{len(found)} of {len(pages)} pages read")
    for name, values in zip(
        ("recall", "precision", "seconds"), zip(*found, strict=False), strict=True
    ):
        print(
            f"{name}: mean {mean(values):.3f}, median {median(values):.3f}, "
            f"from {min(values):.3f} to {max(values):.3f}"
        )
    tell_confidences(lines)
    sandbox._scanners.close()
    who = resource.RUSAGE_SELF if options.finding else resource.RUSAGE_CHILDREN
    used = resource.getrusage(who)
    cpu_s = (used.ru_utime + used.ru_stime) / len(pages)
    print(f"{cpu_s:.2f} s of processor time a page; {used.ru_maxrss / 1024:.0f} MiB at most")


def read_here(pixels: int) -> None:
    """Read pages in this process, with another image size of the engine."""
    engine.load()
    engine.FINDING_PIXELS = pixels

    def read(act: str, content: bytes, *, arguments: dict[str, int], **_: object) -> list[object]:
        return [engine.read(picture_of(content, number=arguments["number"]))]

    ocr_scans.__dict__["run_in_child"] = read


def measure(
    name: str, content: bytes, truth: str, lines: list[tuple[float, float]]
) -> tuple[float, float, float] | None:
    """Return recall, precision and seconds of a page; add its lines' confidences."""
    began = time.perf_counter()
    try:
        document, _ = load_file(content, filename="scan.pdf")
    except PkbError as error:
        print(f"{name}: {error}")
        return None
    seconds = time.perf_counter() - began
    text = "\n".join(block.text for block in document.blocks)
    wanted, got = tokens(truth), tokens(text)
    shared = (wanted & got).total()
    recall, precision = shared / wanted.total(), shared / max(got.total(), 1)
    lines += judged(document, wanted)
    said = document.metadata["ocr"]["confidence"]
    print(f"{name}: recall {recall:.3f} precision {precision:.3f} sure {said} {seconds:.1f} s")
    return recall, precision, seconds


def judged(document: LoadedDocument, wanted: Counter[str]) -> Iterator[tuple[float, float]]:
    """Yield the confidence of each line, and the share of its tokens on the page."""
    for block in document.blocks:
        at = [spot for spot, letter in enumerate(block.text) for _ in fold_text(letter)]
        first = 0
        for place in block.ocr_boxes:
            last = first + place.letter_count
            if first < last <= len(at):
                said = tokens(block.text[at[first] : at[last - 1] + 1])
                yield place.confidence, (said & wanted).total() / max(said.total(), 1)
            first = last


def tokens(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in TOKEN.findall(text))


def tell_confidences(lines: list[tuple[float, float]]) -> None:
    for least, most in itertools.pairwise(STEPS):
        shares = [share for sure, share in lines if least <= sure < most]
        if shares:
            whole = sum(share == 1 for share in shares) / len(shares)
            print(
                f"lines of confidence {least:.2f} to {min(most, 1):.2f}: {len(shares)}, "
                f"tokens right {mean(shares):.3f}, wholly right {whole:.3f}"
            )


def drawn(folder: Path, chosen: random.Random) -> Iterator[tuple[str, Image.Image, str]]:
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
        for number in range(min(len(pdf), 60)):
            words = len(pdf[number].get_textpage().get_text_range().split())
            if MIN_WORDS <= words <= MOST_WORDS:
                yield path, number
    except PdfiumError:
        return


def set_texts(folder: Path) -> Iterator[tuple[str, Image.Image, str]]:
    """Yield A4 pages at 200 dpi with the first lines of each text."""
    font = ImageFont.truetype("DejaVuSans.ttf", 30)
    for path in sorted(folder.glob("*.txt")):
        lines = textwrap.wrap(path.read_text("utf-8"), 80)[:50]
        picture = Image.new("RGB", (1654, 2339), "white")
        ImageDraw.Draw(picture).multiline_text(
            (150, 150), "\n".join(lines), "black", font, None, 10
        )
        yield path.stem, picture, "\n".join(lines)


def worsened(picture: Image.Image, chosen: random.Random, harm: float) -> bytes:
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
    Image.open(jpeg).save(pdf, "PDF", resolution=picture.width / 8.27)
    return pdf.getvalue()


if __name__ == "__main__":
    main()
