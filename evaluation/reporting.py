"""Keep results in files, and read the latest ones back."""

import json
import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string

from evaluation.plotting import draw_plots
from evaluation.results import Result

RESULT_FILE = "result.json"
REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True)
class KeptResult:
    """The latest result of one data set and where its files are.

    Attributes:
        report: The self-contained HTML page, if it was written.
        plots: The PNG files, by name.
    """

    result: Result
    folder: Path

    @property
    def report(self) -> Path | None:
        path = self.folder / REPORT_FILE
        return path if path.is_file() else None

    @property
    def plots(self) -> list[Path]:
        return sorted(self.folder.glob("*.png"))


def results_folder(dataset: str) -> Path:
    """Return where the latest result of a data set is kept."""
    return Path(settings.PKB_EVALUATIONS_DIR) / dataset


def latest_results() -> list[KeptResult]:
    """Return the latest result of each data set, newest first; unreadable files are left out."""
    root = Path(settings.PKB_EVALUATIONS_DIR)
    kept = [_read_kept(path) for path in sorted(root.glob(f"*/{RESULT_FILE}"))]
    found = [result for result in kept if result is not None]
    return sorted(found, key=lambda kept: kept.result.created_at, reverse=True)


def _read_kept(path: Path) -> KeptResult | None:
    try:
        result = Result.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return KeptResult(result, path.parent)


def keep_result(result: Result) -> Path:
    """Keep a result as the latest of its data set, with page and plots; return its folder.

    Each file is replaced whole: a reader sees the old one or the new one.
    """
    folder = results_folder(result.dataset)
    write_report(result, folder)
    return folder


def write_report(result: Result, folder: Path) -> None:
    """Write ``result.json``, ``report.html`` and the PNG files into a folder."""
    plots = draw_plots(result)
    files = {
        **plots,
        REPORT_FILE: render_report(result, plots).encode(),
        RESULT_FILE: json.dumps(result.to_json(), ensure_ascii=False).encode(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for stale in set(folder.glob("*.png")) - {folder / name for name in plots}:
        stale.unlink(missing_ok=True)
    for name, content in files.items():
        draft = folder / f".{name}.{os.getpid()}"
        draft.write_bytes(content)
        draft.replace(folder / name)


def render_report(result: Result, plots: Mapping[str, bytes]) -> str:
    """Return one HTML page that needs no other file."""
    images = {
        name.removesuffix(".png").replace("_", " "): b64encode(image).decode()
        for name, image in plots.items()
    }
    return render_to_string("evaluation/report.html", {"result": result, "images": images})
