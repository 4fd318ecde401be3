"""Compare how pkb and other libraries read old Office files and Rich Text.

    soffice --headless --convert-to "doc:MS Word 97" --outdir /tmp/old/files *.docx *.odt *.html
    soffice --headless --convert-to "txt:Text (encoded):UTF8" --outdir /tmp/old/expected ...
    python benchmarks/old_formats.py /tmp/old [--spoil 20]

``files/NAME.doc`` (.rtf, .xls, ...) is compared with ``expected/NAME.doc.txt``, or with what is
loaded of ``expected/NAME.ppt.pptx``; a file without one is only read. Recall is the share of the
expected tokens that are found, precision that of the found ones that are expected. kreuzberg and
striprtf are asked too where they are installed. ``--spoil`` cuts off and overwrites each file so
often, at places by chance, and counts what came of it.
"""

import argparse
import importlib
import importlib.util
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from corpus.errors import PkbError
from corpus.loaders import load_file

_TOKEN = re.compile(r"\w+")
_MEDIA_TYPES = {
    ".doc": "application/msword", ".xls": "application/vnd.ms-excel", ".rtf": "application/rtf",
    ".ppt": "application/vnd.ms-powerpoint", ".msg": "application/vnd.ms-outlook",
    ".xlsb": "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
}  # fmt: skip
Reader = Callable[[Path], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spoil", type=int, default=0)
    options = parser.parse_args()
    files = sorted(p for p in (options.folder / "files").iterdir() if p.suffix in _MEDIA_TYPES)
    print("| format | reader | files | failed | recall | precision | mean s | most s |")
    print("|---|---|---|---|---|---|---|---|")
    for suffix in sorted({file.suffix for file in files}):
        group = [file for file in files if file.suffix == suffix]
        for name, reader in readers(suffix).items():
            print(f"| {suffix} | {name} | {row(group, reader, options.folder / 'expected')} |")
    outcomes = Counter(
        (file.suffix, outcome) for file in files for outcome in spoilt(file, options.spoil)
    )
    for (suffix, outcome), count in sorted(outcomes.items()):
        print(f"spoilt {suffix}: {outcome}: {count}")


def readers(suffix: str) -> dict[str, Reader]:
    """Return the installed readers of a format."""
    found: dict[str, Reader] = {"pkb": read}
    if importlib.util.find_spec("kreuzberg"):
        found["kreuzberg"] = read_with_kreuzberg
    if suffix == ".rtf" and importlib.util.find_spec("striprtf"):
        found["striprtf"] = read_with_striprtf
    return found


def read(file: Path) -> str:
    document, _ = load_file(file.read_bytes(), filename=file.name)
    return "\n\n".join(block.text for block in document.blocks)


def read_with_kreuzberg(file: Path) -> str:
    kreuzberg: Any = importlib.import_module("kreuzberg")

    config = kreuzberg.ExtractionConfig(output_format="plain", disable_ocr=True)
    content = file.read_bytes()
    result = kreuzberg.extract_bytes_sync(content, _MEDIA_TYPES[file.suffix], config)
    return str(result.content)


def read_with_striprtf(file: Path) -> str:
    striprtf: Any = importlib.import_module("striprtf.striprtf")
    return str(striprtf.rtf_to_text(file.read_bytes().decode("latin-1")))


def row(files: list[Path], reader: Reader, expected: Path) -> str:
    """Return the metrics of a reader over the files of a format."""
    figures: dict[str, list[float]] = defaultdict(list)
    failed = 0
    for file in files:
        began = time.perf_counter()
        try:
            text = reader(file)
        except BaseException as error:  # also what Rust raises in panic
            if isinstance(error, KeyboardInterrupt):
                raise
            failed += 1
            continue
        figures["s"].append(time.perf_counter() - began)
        wanted, found = expected_tokens(expected, file.name), tokens(text)
        if wanted:
            common = (wanted & found).total()
            figures["recall"].append(common / wanted.total())
            figures["precision"].append(common / max(found.total(), 1))
    shares = [f"{mean(figures[name] or [0]):.3f}" for name in ("recall", "precision")]
    return " | ".join(
        [str(len(files)), str(failed), *shares, f"{mean(figures['s'] or [0]):.3f}",
         f"{max(figures['s'] or [0]):.2f}"]
    )  # fmt: skip


def expected_tokens(folder: Path, name: str) -> Counter[str]:
    found = next(folder.glob(f"{name}.*"), None)
    if found and found.suffix == ".txt":
        return tokens(found.read_text("utf-8-sig"))
    return tokens(read(found)) if found else Counter()


def tokens(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def spoilt(file: Path, times: int) -> list[str]:
    """Return the results of truncated and corrupted copies of a file."""
    chance = random.Random(file.name)  # noqa: S311 - the same each time
    outcomes = []
    for _ in range(times):
        content = bytearray(file.read_bytes())
        if chance.random() < 0.25:
            del content[chance.randrange(len(content)) :]
        for _ in range(chance.choice([1, 5, 50, 300])):
            if content:
                content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            load_file(bytes(content), filename=file.name)
            outcomes.append("read")
        except PkbError as error:
            is_parser = "the parser" in str(error) or "more processor time" in str(error)
            outcomes.append(f"refused: {error}" if is_parser else "refused")
    return outcomes


if __name__ == "__main__":
    main()
