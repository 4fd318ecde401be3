"""Select files of a folder by patterns; count the skipped ones by kind."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath

# Folders of installed packages and build products.
GENERATED_FOLDERS = (
    "node_modules", "bower_components", "__pycache__", "site-packages", "venv", "*.egg-info",
)  # fmt: skip
# Files that a loader reads but nobody asks about: styles, drawings, lock files. Also pictures: most
# are illustrations, and OCR takes seconds for each.
DEFAULT_EXCLUDES = (
    "*.png", "*.jpg", "*.jpeg", "*.webp", "*.bmp",
    "*.svg", "*.css", "*.scss", "*.sass", "*.less", "*.min.js", "*.min.mjs",
    "package-lock.json", "npm-shrinkwrap.json", "composer.lock", "pnpm-lock.yaml",
)  # fmt: skip
# A longer suffix is part of the name.
MAX_ENDING_CHARS = 8
# Kinds that a message lists.
MAX_KINDS = 20
OTHER_KINDS = "other"


@dataclass(frozen=True, slots=True)
class Selection:
    """Patterns of ``fnmatch`` for paths relative to the folder, or for names.

    ``*`` also matches ``/``. Case is ignored.

    Attributes:
        include: If given, a file must match one, and ``DEFAULT_EXCLUDES`` are ignored.
        exclude: Matching files are skipped, and matching folders with all their files.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def enters(self, folder: PurePath) -> bool:
        """Return whether to read a folder."""
        return not _matches(folder, (*GENERATED_FOLDERS, *self.exclude))

    def excludes(self, archive: PurePath, *, below: PurePath) -> bool:
        """Return whether an archive below a folder is skipped with all its files."""
        return archive != below and _matches(archive.relative_to(below), self.exclude)

    def takes(self, file: PurePath) -> bool:
        """Return whether a file is selected, if a loader reads it."""
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
    """Return the kind of a skipped file: its suffix, else its name."""
    if is_folder:
        return f"{path.name}/"
    ending = path.suffix.lower().lstrip(".")
    return ending if 0 < len(ending) <= MAX_ENDING_CHARS else path.name


def count_kinds(skipped: Counter[str]) -> dict[str, int]:
    """Return counts by kind, the most frequent first; rare kinds are added up as ``other``."""
    listed = dict(skipped.most_common(MAX_KINDS))
    rest = skipped.total() - sum(listed.values())
    return {**listed, OTHER_KINDS: rest} if rest else listed


def skipped_message(kinds: dict[str, int]) -> str:
    """Return ``8 skipped (png 5, gz 2, Makefile 1)``; empty if there are none."""
    parts = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    return f"{sum(kinds.values())} skipped ({parts})" if kinds else ""
