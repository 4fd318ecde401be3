"""Which files of a folder are wanted, by patterns; and what to call those that are not."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

# Folders of what was installed or made.
MADE_FOLDERS = (
    "node_modules", "bower_components", "__pycache__", "site-packages", "venv", "*.egg-info",
)  # fmt: skip
# Files that a loader reads and nobody asks: looks, drawings, and what tools write for themselves.
# Pictures, too: most of those in a folder are what its pages show, and OCR takes seconds for each.
DEFAULT_EXCLUDES = (
    "*.png", "*.jpg", "*.jpeg", "*.webp", "*.bmp",
    "*.svg", "*.css", "*.scss", "*.sass", "*.less", "*.min.js", "*.min.mjs",
    "package-lock.json", "npm-shrinkwrap.json", "composer.lock", "pnpm-lock.yaml",
)  # fmt: skip
# A longer ending is part of a name.
MAX_ENDING_CHARS = 8
# Of more kinds a line would not tell.
MAX_KINDS = 20
OTHER_KINDS = "other"


@dataclass(frozen=True, slots=True)
class Selection:
    """Patterns of ``fnmatch`` for paths below the folder that is taken in, or for names alone.

    ``*`` matches ``/`` too, and letters match in either case.

    Attributes:
        include: If there are any, a file must match one; ``DEFAULT_EXCLUDES`` then do not count.
        exclude: What matches one is passed over, of a folder all that is in it.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def enters(self, folder: PurePath) -> bool:
        """Tell whether to look into a folder."""
        return not _matches(folder, (*MADE_FOLDERS, *self.exclude))

    def takes(self, file: PurePath) -> bool:
        """Tell whether a file is wanted, if a loader reads it."""
        if _matches(file, self.exclude):
            return False
        if self.include:
            return _matches(file, self.include)
        return not _matches(file, DEFAULT_EXCLUDES)


DEFAULT_SELECTION = Selection()


def _matches(relative: PurePath, patterns: Iterable[str]) -> bool:
    spellings = {str(relative).lower(), relative.name.lower()}
    return any(fnmatchcase(each, pattern.lower()) for pattern in patterns for each in spellings)


def file_kind(path: PurePath, *, is_folder: bool = False) -> str:
    """Return what kind of file was passed over: its ending, else its name."""
    if is_folder:
        return f"{path.name}/"
    ending = path.suffix.lower().lstrip(".")
    return ending if 0 < len(ending) <= MAX_ENDING_CHARS else path.name


def count_kinds(skipped: Counter[str]) -> dict[str, int]:
    """Return kinds with their counts, the most frequent first; rare ones of many together."""
    told = dict(skipped.most_common(MAX_KINDS))
    left = skipped.total() - sum(told.values())
    return {**told, OTHER_KINDS: left} if left else told


def skipped_message(kinds: dict[str, int]) -> str:
    """Say ``8 skipped (png 5, gz 2, Makefile 1)``; nothing if there are none."""
    parts = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    return f"{sum(kinds.values())} skipped ({parts})" if kinds else ""
