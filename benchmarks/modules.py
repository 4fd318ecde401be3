"""Count the modules and functions that answering a question, and storing a text, enter.

    PYTHONPATH=. .venv/bin/python benchmarks/modules.py [-v]

It makes a test database, stores a text and asks about it twice, and counts the second time: models,
settings and URLs are loaded by then. A module counts if one of its functions was entered. With
``-v`` each module is listed with its functions and the lines of code in them. The service's own
ASGI application (pkb/http/admission.py) is not on the way: the client is Django's.
"""

import inspect
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pkb.settings")
os.environ.setdefault("APP_ENV", "test")

import django

django.setup()

from django.db import connection  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from rest_framework.test import APIClient  # noqa: E402

from corpus.access.principal import SYSTEM, acting_as  # noqa: E402

PROJECT = ("pkb", "web", "evaluation", "qa", "accounts", "corpus")
TEXT = "The lighthouse at Bavoke was built in 1874 by the engineer Orsolya Quill."
FIRST = f"{TEXT} It is white."


def main() -> None:
    connection.settings_dict.update(connection.settings_dict.get("OWNER", {}))
    connection.settings_dict["TEST"]["NAME"] = f"test_modules_{os.getpid()}"
    setup_test_environment()
    with acting_as(SYSTEM):
        connection.creation.create_test_db(verbosity=0)
    api = APIClient()

    def post(text: str) -> Any:
        return api.post("/ingest", {"text": text, "title": "Bavoke"}, format="json")

    def get() -> Any:
        return api.get("/answer", {"q": "Who built the lighthouse at Bavoke?"})

    try:
        for warm in (post(FIRST), get()):
            assert warm.status_code in {200, 201}, warm.content  # noqa: S101
        show("POST /ingest", lambda: post(TEXT))
        show("GET /answer", get)
    finally:
        connection.creation.destroy_test_db("", verbosity=0)


def show(name: str, request: Callable[[], Any]) -> None:
    """Send a request, and print the functions of the project that it entered."""
    modules: dict[str, set[CodeType]] = defaultdict(set)
    root = Path.cwd()
    entered = entered_functions(request)
    for code in entered:
        if code.co_filename.startswith(f"{root}/"):
            path = str(Path(code.co_filename).relative_to(root))
            if path.split("/", maxsplit=1)[0] in PROJECT:
                modules[path].add(code)
    counts = {path: (len(codes), sum(map(line_count, codes))) for path, codes in modules.items()}
    functions = sum(count for count, _ in counts.values())
    lines = sum(lines for _, lines in counts.values())
    print(f"{name}: {len(modules)} modules, {functions} functions, {lines} lines of code in them")
    if "-v" in sys.argv:
        for path, (count, lines) in sorted(counts.items()):
            print(f"{count:5} {lines:5}  {path}")


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


def line_count(code: CodeType) -> int:
    """Return the number of code lines of a function and its inner functions."""
    inner = [each for each in code.co_consts if inspect.iscode(each)]
    lines = {line for *_, line in code.co_lines() if line}
    return len(lines) + sum(map(line_count, (each for each in inner if each.co_name[0] == "<")))


if __name__ == "__main__":
    main()
