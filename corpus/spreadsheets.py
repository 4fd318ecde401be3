"""Write tables as CSV and XLSX, in which no text becomes a formula."""

import csv
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from xml.sax.saxutils import escape, quoteattr

Value = str | int | float | None
Table = Iterable[Sequence[Value]]

# Of an XLSX cell, which programs reject above.
MAX_CELL_CHARS = 32_767
# XML 1.0 has no such characters.
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# The first row and column stay while the others are scrolled.
_FROZEN = (
    '<sheetViews><sheetView workbookViewId="0"><pane xSplit="1" ySplit="1" topLeftCell="B2"'
    ' activePane="bottomRight" state="frozen"/></sheetView></sheetViews>'
)


def write_csv(table: Table) -> str:
    """Return a table as CSV; text that begins like a formula gets an apostrophe."""
    written = StringIO()
    csv.writer(written).writerows([_csv_value(value) for value in row] for row in table)
    return written.getvalue()


def _csv_value(value: Value) -> Value:
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else value


def write_xlsx(sheets: Mapping[str, Table]) -> bytes:
    """Return a workbook with a sheet for each name; its texts are typed as text."""
    numbered = list(enumerate(sheets.items(), start=1))
    listed = (
        f'<sheet name={quoteattr(name)} sheetId="{n}" r:id="s{n}"/>' for n, (name, _) in numbered
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels"'
        ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        + "".join(
            f'<Override PartName="/xl/sheet{n}.xml" ContentType="{_TYPE}.worksheet+xml"/>'
            for n, _ in numbered
        )
        + "</Types>",
        "_rels/.rels": _relations({"w": ("officeDocument", "xl/workbook.xml")}),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{''.join(listed)}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            {f"s{n}": ("worksheet", f"sheet{n}.xml") for n, _ in numbered}
        ),
    }
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in parts.items():
            archive.writestr(path, content)
        for n, (_, table) in numbered:
            rows = "".join(f"<row>{''.join(map(_xlsx_cell, row))}</row>" for row in table)
            sheet = f'<worksheet xmlns="{_MAIN}">{_FROZEN}<sheetData>{rows}</sheetData></worksheet>'
            archive.writestr(f"xl/sheet{n}.xml", sheet)
    return packed.getvalue()


def _relations(targets: Mapping[str, tuple[str, str]]) -> str:
    each = (
        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(each)}</Relationships>'


def _xlsx_cell(value: Value) -> str:
    if value is None or value == "":
        return "<c/>"
    if not isinstance(value, str):
        return f"<c><v>{value}</v></c>"
    text = escape(_UNWRITABLE.sub("", value[:MAX_CELL_CHARS]))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
