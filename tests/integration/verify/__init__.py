"""What tests of manage.py verify share."""

from io import StringIO

from django.core.management import call_command
from django.db import connection


def run_verify(*options: str) -> tuple[str, int]:
    out = StringIO()
    try:
        call_command("verify", *options, stdout=out)
    except SystemExit as exc:
        return out.getvalue(), int(str(exc))
    return out.getvalue(), 0


def alter(statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(statements)
