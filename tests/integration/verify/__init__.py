"""What tests of manage.py verify share."""

from tests.support.commands import run
from tests.support.database import execute


def run_verify(*options: str) -> tuple[str, int]:
    out, _, code = run("verify", *options)
    return out, code


def alter(statements: str) -> None:
    execute("SET CONSTRAINTS ALL DEFERRED")
    execute(statements)
