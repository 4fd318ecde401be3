"""The source that docs/guides/extend.md shows how to write."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from corpus.jobs.run import run_job_slice
from corpus.models import Document
from corpus.sources import source_settings
from corpus.watched.due_syncs import sync_source
from tests.support.documents import BAKERY, LIGHTHOUSE

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "extend.md"


@pytest.mark.usefixtures("cheap_model")
def test_the_documented_source_is_mirrored(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = PAGE.read_text().partition("## Sources")[2]
    (shown,) = re.findall(r"```python\n(.*?)```", sources, re.S)
    (tmp_path / "journal.py").write_text(shown)
    monkeypatch.syspath_prepend(tmp_path)
    journal, file = tmp_path / "journal.jsonl", tmp_path / "sources.yaml"
    file.write_text(f"- {{name: diary, kind: journal, path: {journal}}}")
    settings.PKB_SOURCES = source_settings.read_sources(file, environment={})

    def sync(**days: str) -> dict[str, str]:
        rows = ({"day": day, "text": text, "changed": text[:9]} for day, text in days.items())
        journal.write_text("\n".join(map(json.dumps, rows)))
        assert run_job_slice(sync_source("diary").pk)
        return dict(Document.objects.values_list("title", "content__text"))

    assert sync(monday=LIGHTHOUSE) == {"monday": LIGHTHOUSE}
    assert sync(monday=BAKERY, friday=LIGHTHOUSE) == {"monday": BAKERY, "friday": LIGHTHOUSE}
    assert sync(friday=LIGHTHOUSE) == {"friday": LIGHTHOUSE}
