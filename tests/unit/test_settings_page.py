"""docs/reference/settings.md says what pkb/env.py says."""

import re

from pkb.env import Env
from pkb.management.commands.document_settings import PAGE, render_page


def row_of(name: str) -> list[str]:
    (row,) = re.findall(rf"^\| `{name}` \| (.*) \|$", render_page(), re.MULTILINE)
    return [cell.strip() for cell in row.split(" | ")]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "manage.py document_settings"


def test_every_setting_is_described_in_one_row() -> None:
    names = re.findall(r"^\| `([A-Z0-9_]+)` \|", render_page(), re.MULTILINE)
    assert names == [name.upper() for name in Env.model_fields]
    assert all(len(row_of(name)) == 3 and row_of(name)[2] for name in names)


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
    assert {name: row_of(name)[:2] for name in cases} == cases
