"""Measure the layout of the source: files, imports, names, functions, and two request paths.

    python benchmarks/code_layout.py [CHECKOUT]

The paths are those of modules.py; ``-v`` after CHECKOUT lists their modules.
"""

import ast
import os
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from statistics import median, quantiles

ROOMS = ("pkb", "web", "evaluation", "qa", "accounts", "corpus")
WIDE = 88
MODULES = Path(__file__).with_name("modules.py")


def main() -> None:
    root = Path(sys.argv[1] if sys.argv[1:] else ".").resolve()
    files = source_files(root)
    print(f"files: {len(files)}, lines: {sum(map(line_count, files)):,}")
    print(f"imports between them: {count_imports(root, files)}")
    named = [path for path in files if path.stem.endswith("ing")]
    print(f"named by a gerund: {len(named)}")
    fullest, held = Counter(str(path.parent.relative_to(root)) for path in files).most_common(1)[0]
    print(f"fullest folder: {fullest}, {held} files")
    print(f"under 40 lines: {sum(line_count(path) < 40 for path in files)}")
    show_functions(files)
    show_lines(files)
    tests = [path for path in tracked(root, "tests") if line_count(path)]
    print(f"tests: {sum(map(line_count, tests)):,} lines")
    show_walks(root)


def tracked(root: Path, *folders: str) -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", *(f"{folder}/*.py" for folder in folders)],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [root / name for name in listing.stdout.split() if (root / name).exists()]


def source_files(root: Path) -> list[Path]:
    """Return the non-empty source files of the apps, without migrations."""
    found = tracked(root, *ROOMS)
    return [path for path in found if "migrations" not in path.parts and line_count(path)]


def line_count(path: Path) -> int:
    return len(path.read_text().splitlines())


def count_imports(root: Path, files: list[Path]) -> int:
    """Return pairs of files of which the first imports the second."""
    names = {_module(path.relative_to(root)): path for path in files}
    pairs = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                targets = [name for name in inner if name in names] or [node.module]
                pairs |= {(path, names[name]) for name in targets if name in names}
    return len(pairs)


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def show_functions(files: list[Path]) -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    ]
    cuts = quantiles(lengths, n=100)
    print(
        f"lines a function: median {median(lengths):.0f}, p90 {cuts[89]:.0f}, "
        f"p99 {cuts[98]:.0f}, longest {max(lengths)}"
    )


def show_lines(files: list[Path]) -> None:
    wide = comments = code = total = 0
    for path in files:
        lines = path.read_text().splitlines()
        total += len(lines)
        wide += sum(len(line) > WIDE for line in lines)
        with path.open("rb") as file:
            tokens = list(tokenize.tokenize(file.readline))
        comments += sum(token.type == tokenize.COMMENT for token in tokens)
        layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING}
        code += len({token.start[0] for token in tokens if token.type not in layout})
    print(f"lines over {WIDE} columns: {wide / total:.1%}")
    print(f"comments per 100 lines of code: {100 * comments / code:.1f}")


def show_walks(root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, str(MODULES), *sys.argv[2:]]
    subprocess.run(command, cwd=root, env=environment, check=True)


if __name__ == "__main__":
    main()
