"""Turn quoted segments into running text, without the marks of their layout."""

import re

_LINE_MARKS = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+\u2022][ \t]+|\(?\d{1,3}[.)][ \t]+|#{1,6}[ \t]+)+", re.M
)
_TASK = re.compile(r"\A\[[ xX]\]\s+")
_SPACE = re.compile(r"\s+")


def plain_text(text: str) -> str:
    """Return the words of a quote in one line, without marks of items, quotes and headings."""
    return _TASK.sub("", _SPACE.sub(" ", _LINE_MARKS.sub("", text)).strip())


def tell_row(row: str, header: str) -> str:
    """Return the cells of a table's row, each behind the name of its column."""
    cells, names = _cells(row), _cells(header)
    named = [
        f"{name}: {cell}" if name else cell
        for cell, name in zip(cells, [*names, *[""] * len(cells)], strict=False)
        if cell
    ]
    return "; ".join(named)


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [_SPACE.sub(" ", cell).strip() for cell in re.split(r"(?<!\\)\|", inner)]
