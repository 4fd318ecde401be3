"""A command says which packages it lacks, in one line and before it begins."""

import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from corpus.packages import check_packages

DATASET = Path(__file__).parents[2] / "data" / "evaluation"


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("matplotlib", ["evaluate"]),
        ("pytrec_eval", ["evaluate"]),
        ("sklearn", ["calibrate"]),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, package: str, command: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CommandError) as caught:
        call_command(*command, str(DATASET))
    assert str(caught.value) == f"Missing: {package}; run scripts/install evaluation"
    assert caught.value.returncode == 2


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("pytrec_eval", "sklearn"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImproperlyConfigured, match=r"^Missing: pytrec_eval and sklearn; "):
        check_packages("pytrec_eval", "json", "sklearn")
