"""Commands as people type them, in this process."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def run(*arguments: Any) -> tuple[str, str, int]:
    """Return what the command printed, what it complained of, and its exit code."""
    out, err, code = StringIO(), StringIO(), 0
    try:
        call_command(*map(str, arguments), stdout=out, stderr=err)
    except SystemExit as exc:
        code = int(exc.code or 0)
    return out.getvalue(), err.getvalue(), code


def refusal(*arguments: Any) -> tuple[str, int]:
    """Return why the command refuses to run so, and its exit code."""
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    return str(caught.value), caught.value.returncode
