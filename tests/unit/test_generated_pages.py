"""The generated pages of docs/reference say what the code says."""

import re

import pytest
from django.core.management import get_commands

from corpus.errors import TextTooLong
from pkb.env import Env
from pkb.management.commands.document import GROUPS, PAGES, path_of, render_page


def rows_of_settings() -> dict[str, list[str]]:
    rows = re.findall(r"^\| `([A-Z0-9_]+)` \| (.*) \|$", render_page("settings"), re.MULTILINE)
    return {name: [cell.strip() for cell in row.split(" | ")] for name, row in rows}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == render_page(name), "manage.py document"


def test_every_command_has_its_place_and_every_argument_a_meaning() -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    apps = {"accounts", "corpus", "evaluation", "pkb", "qa"}
    own = {name for name, app in get_commands().items() if app in apps}
    # The one that writes the generated pages is not documented.
    assert set(grouped) == {name for name in own if name != "document"}
    assert len(grouped) == len(set(grouped))
    page = render_page("commands")
    assert "| `--every 24h` | update it on schedule, such as 24h or 7d |" in page
    assert re.findall(r"^.*\|  \|$", page, re.MULTILINE) == []


def test_an_error_is_shown_with_its_status_and_meaning() -> None:
    row = f"| 422 | `text_too_long` | {TextTooLong.__doc__} |  |\n"
    assert row in render_page("errors")
    assert "| 503 | `not_ready` | The service is still starting. | 5 s |" in (render_page("errors"))


def test_every_setting_is_described_in_one_row() -> None:
    rows = rows_of_settings()
    assert list(rows) == list(Env.model_fields)
    assert all(len(row) == 3 and row[2] for row in rows.values())


def test_a_row_has_type_bounds_and_default() -> None:
    cases = {
        "APP_PORT": ["whole number, 1 to 65535", "`8000`"],
        "PKB_MODEL_THREADS": ["whole number, 0 to 256", "`0`"],
        "PKB_MODEL_TIMEOUT_S": ["number, above 0 to 600", "`60`"],
        "EMBEDDING_DIM": ["whole number, 1 to 4000", "unset"],
        "PKB_HTTPS": ["`true`, `false`", "`false`"],
        "PKB_WORKER": ["`auto`, `off`", "`auto`"],
        "PKB_DATA_DIR": ["path", "`var`"],
        "PKB_LM_API_KEY": ["secret", "unset"],
        "PKB_LM": ["text", "unset"],
    }
    rows = rows_of_settings()
    assert {name: rows[name][:2] for name in cases} == cases
