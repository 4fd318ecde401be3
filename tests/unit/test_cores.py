from pathlib import Path

import pytest

from corpus.cores import usable_core_count


@pytest.mark.parametrize("quota", ["100000 100000", "50000 100000"])
def test_a_container_s_quota_is_kept(tmp_path: Path, quota: str) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    assert usable_core_count(tmp_path / "cpu.max") == 1


@pytest.mark.parametrize("quota", ["max 100000", "", "nonsense"])
def test_without_a_quota_the_affinity_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str
) -> None:
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    assert usable_core_count(tmp_path / "cpu.max") == 3
