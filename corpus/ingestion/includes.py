"""Include files in others: ``{include}`` of MyST, ``.. include::`` of reStructuredText.

An included file must be in the same root. Its text replaces the directive. The hash of the
including file covers all included files, so that it changes with them.
"""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from corpus.errors import PkbError
from corpus.ingestion.file_scan import FileContent, read_file
from corpus.loaders import registry
from corpus.loaders.charset import decode
from corpus.loaders.formats.markdown_loader import split_front_matter
from corpus.loaders.formats.plain_text import normalize_newlines

# Maximum depth and number of includes.
MAX_DEPTH = 10
MAX_INCLUDES = 1_000

_FENCE = re.compile(r"\A[ ]{0,3}(`{3,}|~{3,}|:{3,})[ ]*(?:\{include\}[ \t]+(\S.*))?")
_DIRECTIVE = re.compile(r"\A\.\. include::[ \t]+(\S.*)")
_OPTION = re.compile(r"\A[ \t]*:([a-z-]+):[ \t]*(.*)")
# With these options, the file is shown as a listing and is not part of the text.
_LITERAL = frozenset(("literal", "code", "parser"))
# URLs, files of the program's own folder, and paths from a root that only the program knows.
_ELSEWHERE = re.compile(r"\A(?:/|<|~|[a-z]+://)", re.I)


@dataclass(frozen=True, slots=True)
class Include:
    """An include directive in the lines ``start:end`` of a text.

    Attributes:
        options: Such as ``start-after``.
    """

    start: int
    end: int
    name: str
    options: dict[str, str]


def read_with_includes(
    path: Path, *, root: Path, max_bytes: int, quiet_s: float = 0
) -> FileContent:
    """Read a file with its includes; arguments and errors are those of ``read_file``.

    Directives of files that are missing, hidden, too large or not below ``root`` stay as they are.
    """
    file = read_file(path, root=root, max_bytes=max_bytes, quiet_s=quiet_s)
    find = _FINDERS.get(registry.MEDIA_TYPE_OF_EXTENSION.get(path.suffix.lower()[1:], ""))
    if find is None or b"include" not in file.content:
        return file
    reader = _Reader(path.parent, root, find, left_bytes=max_bytes - len(file.content))
    try:
        text = reader.expand(normalize_newlines(decode(file.content)), path, ())
    except PkbError:  # not a text; its loader reports it
        return file
    if not reader.hashes:
        return file
    return replace(file, content=text.encode(), own_sha256=file.file_hash, includes=reader.hashes)


class _Reader:
    """Reads included files, each once.

    Attributes:
        hashes: Hashes of the files, by their paths relative to the first file's folder.
    """

    def __init__(self, folder: Path, root: Path, find: "Finder", *, left_bytes: int) -> None:
        self.hashes: dict[str, str] = {}
        self._folder = folder
        self._root = root
        self._find = find
        self._texts: dict[Path, str] = {}
        self._left_bytes = left_bytes
        self._left_count = MAX_INCLUDES

    def expand(self, text: str, path: Path, above: tuple[Path, ...]) -> str:
        """Replace include directives by the included texts.

        Args:
            path: Path of the file with this text.
            above: The files that include it, which it must not include.
        """
        lines = text.split("\n")
        pieces: list[str] = []
        done = 0
        for include in self._find(lines):
            inner = self._included(include, path, (*above, path))
            if inner is not None:
                pieces += [*lines[done : include.start], inner]
                done = include.end
        return "\n".join([*pieces, *lines[done:]])

    def _included(self, include: Include, path: Path, above: tuple[Path, ...]) -> str | None:
        if _ELSEWHERE.match(include.name) or "\0" in include.name:
            return None
        target = Path(os.path.normpath(path.parent / include.name))
        if not target.is_relative_to(self._root) or target in above or len(above) > MAX_DEPTH:
            return None
        is_hidden = any(part.startswith(".") for part in target.relative_to(self._root).parts)
        if is_hidden or _LITERAL & include.options.keys() or not self._left_count:
            return None
        self._left_count -= 1
        if target not in self._texts:
            try:
                file = read_file(target, root=self._root, max_bytes=max(self._left_bytes, 0))
                _, text = split_front_matter(normalize_newlines(decode(file.content)))
            except (PkbError, OSError):
                return None
            self._texts[target] = text
            self.hashes[os.path.relpath(target, self._folder)] = file.file_hash
        text = self._texts[target]
        size_bytes = len(text.encode())
        if size_bytes > self._left_bytes:
            return None
        self._left_bytes -= size_bytes
        return self.expand(_part(text, include.options), target, above)


def _part(text: str, options: dict[str, str]) -> str:
    """Return the part of a text that the options select."""
    lines = text.split("\n")
    numbers = (options.get(name, "") for name in ("start-line", "end-line"))
    start, end = (int(n) if re.fullmatch(r"-?\d{1,6}", n) else None for n in numbers)
    text = "\n".join(lines[slice(start, end)])
    _, separator, behind = text.partition(options.get("start-after") or "\0")
    text = behind if separator else text
    return text.partition(options.get("end-before") or "\0")[0].strip("\n")


def _find_in_markdown(lines: list[str]) -> Iterator[Include]:
    """Yield include fences that are not inside of another fence."""
    fence = name = ""
    options: dict[str, str] = {}
    start = 0
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if not fence:
            if match and (match[2] or not match[1].startswith(":")):
                fence, name, options, start = match[1], (match[2] or "").strip(), {}, number
        elif match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
            if name:
                yield Include(start, number + 1, name, options)
            fence = ""
        elif option := _OPTION.match(line):
            options[option[1]] = option[2].strip()


def _find_in_rest(lines: list[str]) -> Iterator[Include]:
    """Yield include directives at the margin; an indented one may be an example."""
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        if not match:
            continue
        end = number + 1
        options: dict[str, str] = {}
        while (
            end < len(lines) and lines[end][:1].isspace() and (option := _OPTION.match(lines[end]))
        ):
            options[option[1]] = option[2].strip()
            end += 1
        yield Include(number, end, match[1].strip(), options)


Finder = Callable[[list[str]], Iterator[Include]]
_FINDERS: dict[str, Finder] = {
    registry.MARKDOWN: _find_in_markdown,
    registry.RESTRUCTUREDTEXT: _find_in_rest,
}
