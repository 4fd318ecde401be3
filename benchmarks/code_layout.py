"""Measure the layout of the source, to compare a checkout before and after a change.

    python benchmarks/code_layout.py [CHECKOUT] [--verbose]

Prints files, lines and functions; private functions that are called once; circles of imports; paths
of endpoints that a module repeats as a string; and the modules and functions that ``GET /answer``
and ``POST /ingest`` enter. ``--verbose`` lists what is counted.

The two requests are sent twice in a test database, by Django's client, and counted the second time:
models, settings and URLs are loaded by then. The ASGI application (pkb/http/admission.py) is not on
their way.
"""

import argparse
import ast
import inspect
import os
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles
from types import CodeType, FrameType
from typing import Any

ROOMS = ("pkb", "web", "evaluation", "qa", "accounts", "corpus")
TEXT = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."
QUESTION = "Who built the lighthouse at Bavoke?"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Trees = dict[Path, ast.Module]


def main() -> None:
    options = parse_options()
    os.chdir(options.checkout)
    if options.requests:
        show_requests(is_verbose=options.verbose)
        return
    trees = {path: ast.parse(path.read_text()) for path in source_files()}
    lines = {path: line_count(path) for path in trees}
    print(f"files: {len(lines)}, under 40 lines: {sum(count < 40 for count in lines.values())}")
    print(f"lines: {sum(lines.values()):,}, of tests: {sum(map(line_count, tracked('tests'))):,}")
    show_functions(trees, is_verbose=options.verbose)
    imports = find_imports(trees)
    print(f"imports between files: {sum(map(len, imports.values()))}")
    circular = find_circular(imports)
    print(f"files in circles of imports: {len(circular)}")
    show_names(circular, is_verbose=options.verbose)
    repeated = find_paths(trees)
    print(f"endpoints' paths repeated as strings: {len(repeated)}")
    show_names(repeated, is_verbose=options.verbose)
    again = [sys.executable, __file__, "--requests", *["--verbose"] * options.verbose]
    subprocess.run(again, env={**os.environ, "PYTHONPATH": str(Path.cwd())}, check=True)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, nargs="?", default=Path())
    parser.add_argument("--verbose", action="store_true")
    # The part that imports the checkout, in a process of its own.
    parser.add_argument("--requests", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def tracked(*folders: str) -> list[Path]:
    """Return the Python files that git knows and that are there."""
    patterns = [f"{folder}/*.py" for folder in folders]
    listing = subprocess.run(
        ["git", "ls-files", *patterns], capture_output=True, text=True, check=True
    )
    return [Path(name) for name in listing.stdout.split() if Path(name).exists()]


def source_files() -> list[Path]:
    """Return the non-empty source files of the apps, without migrations."""
    files = tracked(*ROOMS)
    return [path for path in files if "migrations" not in path.parts and line_count(path)]


def line_count(path: Path) -> int:
    return len(path.read_text().splitlines())


def show_names(names: list[str], *, is_verbose: bool) -> None:
    for name in names if is_verbose else ():
        print(f"      {name}")


def show_functions(trees: Trees, *, is_verbose: bool) -> None:
    functions = [function for tree in trees.values() for function in functions_of(tree)]
    lengths = [(each.end_lineno or each.lineno) - each.lineno + 1 for each in functions]
    cuts = quantiles(lengths, n=100)
    print(f"functions: {len(functions):,}")
    print(
        f"lines a function: median {median(lengths):.0f}, p90 {cuts[89]:.0f}, "
        f"p99 {cuts[98]:.0f}, longest {max(lengths)}"
    )
    private_count, called_once = sum(map(is_private, functions)), find_called_once(trees)
    share = len(called_once) / private_count
    print(f"private functions: {private_count:,}, called once: {len(called_once):,} ({share:.0%})")
    show_names(called_once, is_verbose=is_verbose)


def functions_of(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def is_private(function: Function) -> bool:
    return function.name.startswith("_") and not function.name.startswith("__")


def find_called_once(trees: Trees) -> list[str]:
    """Return private functions that their file names once, in a call."""
    called_once = []
    for path, tree in trees.items():
        nodes = list(ast.walk(tree))
        called = Counter(name_of(node.func) for node in nodes if isinstance(node, ast.Call))
        named = Counter(map(name_of, nodes))
        called_once += [
            f"{path}: {function.name}"
            for function in functions_of(tree)
            if is_private(function) and called[function.name] == named[function.name] == 1
        ]
    return called_once


def name_of(node: ast.AST) -> str:
    """Return ``name`` of ``name`` and of ``value.name``; of anything else, nothing."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def find_imports(trees: Trees) -> dict[Path, set[Path]]:
    """Return, by file, the files that it imports, anywhere in it."""
    dotted = {path: ".".join(path.with_suffix("").parts) for path in trees}
    modules = {name.removesuffix(".__init__"): path for path, name in dotted.items()}
    imports: dict[Path, set[Path]] = {path: set() for path in trees}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name for name in inner if name in modules] or [node.module]
                imports[path] |= {modules[name] for name in names if name in modules}
    return imports


def find_circular(imports: dict[Path, set[Path]]) -> list[str]:
    """Return the files that import themselves by way of others."""
    circular = []
    for path, imported in imports.items():
        reached: set[Path] = set()
        ahead = list(imported)
        while ahead:
            following = ahead.pop()
            if following not in reached:
                reached.add(following)
                ahead += imports[following]
        if path in reached:
            circular.append(str(path))
    return circular


def find_paths(trees: Trees) -> list[str]:
    """Return the strings that are a path of a ``urls.py``, in other files."""
    routes, strings = set(), []
    for path, tree in trees.items():
        nodes = list(ast.walk(tree))
        if path.name == "urls.py":
            calls = [node for node in nodes if isinstance(node, ast.Call)]
            first = [call.args[0] for call in calls if name_of(call.func) == "path"]
            routes |= {f"/{each.value!s}" for each in first if isinstance(each, ast.Constant)}
        else:
            constants = [node for node in nodes if isinstance(node, ast.Constant)]
            strings += [(f"{path}:{node.lineno}", node.value) for node in constants]
    # What ends with a slash is a part of others.
    endpoints = {route for route in routes if not route.endswith("/")}
    return [f"{place}: {value}" for place, value in strings if value in endpoints]


def show_requests(*, is_verbose: bool) -> None:
    """Send both requests, and print what the second of each enters."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
    os.environ.setdefault("APP_ENV", "test")
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    import django  # noqa: PLC0415  (of the checkout, as what follows)

    django.setup()
    from django.db import connection  # noqa: PLC0415
    from django.test.utils import setup_test_environment  # noqa: PLC0415
    from rest_framework.test import APIClient  # noqa: PLC0415

    from corpus.access.principal import SYSTEM, acting_as  # noqa: PLC0415

    connection.settings_dict.update(connection.settings_dict.get("OWNER", {}))
    connection.settings_dict["TEST"]["NAME"] = f"test_layout_{os.getpid()}"
    setup_test_environment()
    with acting_as(SYSTEM):
        connection.creation.create_test_db(verbosity=0)
    api = APIClient()

    def ingest(text: str) -> Any:
        return api.post("/ingest", {"text": text, "title": "Bavoke"}, format="json")

    def answer() -> Any:
        return api.get("/answer", {"q": QUESTION})

    try:
        for reply in (ingest(f"{TEXT} It is white."), answer()):
            assert reply.status_code in {200, 201}, reply.content  # noqa: S101
        show_entered("POST /ingest", lambda: ingest(TEXT), is_verbose=is_verbose)
        show_entered("GET /answer", answer, is_verbose=is_verbose)
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


def show_entered(name: str, request: Callable[[], Any], *, is_verbose: bool) -> None:
    modules: dict[Path, set[CodeType]] = defaultdict(set)
    for code in entered_functions(request):
        path = Path(code.co_filename)
        if path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
            if path.parts[0] in ROOMS:
                modules[path].add(code)
    lines = {path: sum(map(code_line_count, codes)) for path, codes in modules.items()}
    functions = sum(map(len, modules.values()))
    print(
        f"{name}: {len(modules)} modules, {functions} functions, "
        f"{sum(lines.values())} lines of code in them"
    )
    for path in sorted(modules) if is_verbose else ():
        print(f"{len(modules[path]):5} {lines[path]:5}  {path}")


def entered_functions(request: Callable[[], Any]) -> set[CodeType]:
    """Return the functions and methods entered in any thread."""
    entered: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and not frame.f_code.co_name.startswith("<"):
            entered.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        reply = request()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert reply.status_code in {200, 201}, reply.content  # noqa: S101
    return entered


def code_line_count(code: CodeType) -> int:
    """Return the number of code lines of a function and its inner comprehensions."""
    inner = [each for each in code.co_consts if inspect.iscode(each)]
    lines = {line for *_, line in code.co_lines() if line}
    return len(lines) + sum(code_line_count(each) for each in inner if each.co_name[0] == "<")


if __name__ == "__main__":
    main()
