"""Small files of each format, made in code."""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence

from corpus.loaders import LoaderLimits, load_file
from corpus.loaders.blocks import Block, LoadedDocument

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SLIDE = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:r="{OFFICE}"'
)
LAUGHS = (
    '<!DOCTYPE l [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><l>&j;</l>"
)


def loaded(content: bytes | str, filename: str, media_type: str = "") -> LoadedDocument:
    document, _ = load_file(as_bytes(content), filename=filename, media_type=media_type)
    return document


def texts(document: LoadedDocument) -> list[str]:
    return [block.text for block in document.blocks]


def headings(document: LoadedDocument) -> list[tuple[int, str]]:
    return [(b.heading_level, b.heading_text) for b in document.blocks if b.heading_level]


def limits(**changes: float) -> LoaderLimits:
    return LoaderLimits(**changes)  # type: ignore[arg-type]


def as_bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def zip_of(entries: Mapping[str, bytes | str], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file.getvalue()


def zip_with(content: bytes, parts: Mapping[str, str | None]) -> bytes:
    """An archive with other entries than it had; None leaves one out."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    changed = {**entries, **parts}
    return zip_of({name: entry for name, entry in changed.items() if entry is not None})


def relations(*pairs: tuple[str, str, str]) -> str:
    """Relations as (id, kind, target)."""
    inside = "".join(
        f'<Relationship Id="{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, kind, target in pairs
    )
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f"{inside}</Relationships>"
    )


def paragraph(text: str, style: str = "", properties: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(body: str, **parts: str) -> bytes:
    """A Word file; parts are named by their file, as ``styles='<w:style .../>'``."""
    entries = {
        "[Content_Types].xml": "<Types/>",
        "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
    }
    for name, content in parts.items():
        entries[f"word/{name}.xml"] = f"<w:{name} {WORD}>{content}</w:{name}>"
    kinds = [(f"r{n}", name, f"{name}.xml") for n, name in enumerate(parts)]
    entries["word/_rels/document.xml.rels"] = relations(*kinds)
    return zip_of(entries)


def cell(reference: str, value: str, kind: str = "inlineStr", style: int = 0) -> str:
    if kind == "inlineStr":
        return f'<c r="{reference}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{reference}" t="{kind}" s="{style}"><v>{value}</v></c>'


def xlsx(rows: str, *, after: str = "", styles: str = "", name: str = "Ducks") -> bytes:
    """A workbook of one sheet; rows as XML."""
    return zip_of(
        {
            "[Content_Types].xml": "<Types/>",
            "xl/workbook.xml": f'<workbook {SHEET} xmlns:r="{OFFICE}"><sheets>'
            f'<sheet name="{name}" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations(("r1", "worksheet", "worksheets/s.xml")),
            "xl/styles.xml": f"<styleSheet {SHEET}>{styles}</styleSheet>",
            "xl/worksheets/s.xml": f"<worksheet {SHEET}><sheetData>{rows}</sheetData>"
            f"{after}</worksheet>",
        }
    )


def table_xlsx(rows: Sequence[Sequence[str]]) -> bytes:
    """A workbook from rows of text."""
    lines = (
        f'<row r="{number}">'
        + "".join(cell(f"{chr(65 + at)}{number}", text) for at, text in enumerate(row) if text)
        + "</row>"
        for number, row in enumerate(rows, start=1)
    )
    return xlsx("".join(lines))


def shape(text: str, kind: str = "") -> str:
    holder = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else "<p:nvPr/>"
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='1' name='x'/>{holder}</p:nvSpPr>"
        f"<p:txBody>{lines}</p:txBody></p:sp>"
    )


def pptx(*slides: str, notes: Mapping[int, str] | None = None) -> bytes:
    """A presentation; slides as XML of their shapes, notes as text by slide from 1."""
    count = range(1, len(slides) + 1)
    ids = "".join(f'<p:sldId id="{n}" r:id="r{n}"/>' for n in count)
    entries = {
        "[Content_Types].xml": "<Types/>",
        "ppt/presentation.xml": f"<p:presentation {SLIDE}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"r{n}", "slide", f"slides/slide{n}.xml") for n in count)
        ),
    }
    for number, inside in zip(count, slides, strict=True):
        tree = f"<p:cSld><p:spTree>{inside}</p:spTree></p:cSld>"
        entries[f"ppt/slides/slide{number}.xml"] = f"<p:sld {SLIDE}>{tree}</p:sld>"
    for number, text in (notes or {}).items():
        tree = f"<p:cSld><p:spTree>{shape(text, 'body')}</p:spTree></p:cSld>"
        entries[f"ppt/notesSlides/n{number}.xml"] = f"<p:notes {SLIDE}>{tree}</p:notes>"
        entries[f"ppt/slides/_rels/slide{number}.xml.rels"] = relations(
            ("n1", "notesSlide", f"../notesSlides/n{number}.xml")
        )
    return zip_of(entries)


def odf(kind: str, inside: str, *, meta: str = "", manifest: str = "") -> bytes:
    """An OpenDocument file; kind is text, spreadsheet or presentation."""
    oasis = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(
        f'xmlns:{short}="{oasis}:{name}:1.0"'
        for short, name in (
            ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"),
            ("meta", "meta"), ("presentation", "presentation"),
        )
    )  # fmt: skip
    return zip_of(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {names}><office:body><office:{kind}>"
            f"{inside}</office:{kind}></office:body></office:document-content>",
            "meta.xml": f"<office:document-meta {names} "
            f'xmlns:dc="http://purl.org/dc/elements/1.1/">{meta}</office:document-meta>',
            "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
        }
    )


def epub(chapters: Mapping[str, str], *, spine: Sequence[str], extra: str = "") -> bytes:
    """A book; chapters as HTML by name, read in the order of the spine."""
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml"/>'
        for name in chapters
    )
    references = "".join(f'<itemref idref="{name}"/>' for name in spine)
    entries = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": "<container><rootfiles>"
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Ducks</dc:title>'
        "<dc:creator>Ann Mallard</dc:creator></metadata>"
        f"<manifest>{items}</manifest><spine>{references}</spine></package>",
        **{f"OEBPS/{name}.xhtml": inside for name, inside in chapters.items()},
    }
    if extra:
        entries["META-INF/encryption.xml"] = extra
    return zip_of(entries)


class Pdf:
    """A PDF of lines at places; sizes in points, the origin at the lower left."""

    def __init__(self) -> None:
        self._pages: list[list[str]] = [[]]
        self._outline: list[tuple[str, int]] = []
        self.trailer = ""
        self.info = ""

    def line(
        self, text: str, y: float, *, x: float = 72, size: float = 11, bold: bool = False
    ) -> "Pdf":
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        font = "B" if bold else "F"
        return self.draw(f"BT /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET")

    def draw(self, operators: str) -> "Pdf":
        self._pages[-1].append(operators)
        return self

    def page(self) -> "Pdf":
        self._pages.append([])
        return self

    def outline(self, *entries: tuple[str, int]) -> "Pdf":
        """Entries as (title, page from 1)."""
        self._outline.extend(entries)
        return self

    def bytes(self) -> bytes:
        kids = " ".join(f"{10 + 2 * n} 0 R" for n in range(len(self._pages)))
        objects = {
            1: f"<</Type/Catalog/Pages 2 0 R{'/Outlines 5 0 R' if self._outline else ''}>>",
            2: f"<</Type/Pages/Kids[{kids}]/Count {len(self._pages)}>>",
            3: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            4: "<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>>",
            6: f"<<{self.info}>>",
        }
        for number, lines in enumerate(self._pages):
            objects[10 + 2 * number] = (
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]"
                f"/Contents {11 + 2 * number} 0 R/Resources<</Font<</F 3 0 R/B 4 0 R>>>>>>"
            )
            objects[11 + 2 * number] = _stream("\n".join(lines))
        first = 12 + 2 * len(self._pages)
        for at, (title, page) in enumerate(self._outline):
            following = f"/Next {first + at + 1} 0 R" if at + 1 < len(self._outline) else ""
            objects[first + at] = (
                f"<</Title({title})/Parent 5 0 R/Dest[{8 + 2 * page} 0 R/Fit]{following}>>"
            )
        if self._outline:
            last = first + len(self._outline) - 1
            objects[5] = f"<</First {first} 0 R/Last {last} 0 R/Count {len(self._outline)}>>"
        return _assembled(objects, self.trailer)


def pdf_of(stream: bytes, filters: str) -> bytes:
    """A PDF of one page with a content stream as it is."""
    made = Pdf().bytes()
    start = made.index(b"11 0 obj")
    end = made.index(b"endobj", start)
    body = b"11 0 obj<</Length %d%s>>stream\n%s\nendstream\n" % (
        len(stream),
        filters.encode(),
        stream,
    )
    return made[:start] + body + made[end:]


def _stream(content: str) -> str:
    return f"<</Length {len(content)}>>stream\n{content}\nendstream"


def _assembled(objects: Mapping[int, str], trailer: str) -> bytes:
    out = b"%PDF-1.7\n"
    offsets: dict[int, int] = {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(out)
        out += f"{number} 0 obj{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        out += f"{number} 1\n{offset:010} 00000 n \n".encode()
    end = f"<</Root 1 0 R/Info 6 0 R/Size {max(offsets) + 1}{trailer}>>"
    return out + f"trailer{end}\nstartxref\n{start}\n%%EOF\n".encode("latin-1")


def deflated(content: bytes) -> bytes:
    return zlib.compress(content)


def block(text: str, level: int, title: str = "") -> Block:
    return Block(text, level, title or text)
