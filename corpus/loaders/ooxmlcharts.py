"""Charts in Word, Excel and PowerPoint files: the numbers they were drawn from."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zipfile import ZipFile

from corpus.loaders.archives import read_xml
from corpus.loaders.tables import table_blocks
from corpus.loading import Block

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def chart_blocks(archive: ZipFile, name: str, *, page: int | None = None) -> Iterator[Block]:
    """A chart's title, and the numbers it was drawn from as a table."""
    root = read_xml(archive, name)
    if root is None:
        return
    title = root.find(f"{_C}chart/{_C}title")
    if title is not None and (text := "".join(t.text or "" for t in title.iter(_A + "t")).strip()):
        yield Block(text, page=page)
    series = [(_cached(one.find(_C + "tx")), one) for one in root.iter(_C + "ser")]
    if series:
        labels = _cached(series[0][1].find(_C + "cat"))
        columns = [_cached(one.find(_C + "val")) for _, one in series]
        rows = [["", *(" ".join(names) for names, _ in series)]]
        for at in range(max(map(len, [labels, *columns]), default=0)):
            rows.append([column[at] if at < len(column) else "" for column in (labels, *columns)])
        yield from table_blocks(rows, page=page)


def _cached(source: "Element | None") -> list[str]:
    if source is None:
        return []
    return [value.text or "" for value in source.iter(_C + "v")]
