"""Pages that are pictures, read by rapidocr."""

import io
import random
import socket
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from PIL import Image, ImageDraw
from pypdfium2 import PdfDocument, PdfImage, PdfMatrix

from corpus.errors import EmptyDocument, TooLarge, UnreadableFile
from corpus.loaders import load_file
from corpus.loaders.blocks import LoadedDocument, Scan
from corpus.loaders.formats import pdf_loader
from corpus.loaders.formats.pdf_loader import MAX_STRAY_CHARS
from corpus.loaders.ocr import UNSURE_BELOW, scans
from corpus.loaders.ocr.scans import summarize_ocr
from corpus.loaders.read import read
from corpus.loaders.registry import PNG
from tests.unit.loaders.sample_files import Pdf, limits, texts
from tests.unit.loaders.scanned_files import (
    SENTENCES,
    joined_pdfs,
    packed,
    picture_of_text,
    scan_of,
)

READ = " ".join(SENTENCES)


@pytest.fixture(scope="module")
def engine() -> Iterator[ModuleType]:
    """The engine, loaded and used with every way out closed."""

    def closed(*_: object, **__: object) -> None:
        raise AssertionError("OCR looked for something on the network")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", closed)
        patch.setattr(socket, "getaddrinfo", closed)
        from corpus.loaders.ocr import engine as loaded  # noqa: PLC0415

        loaded.load()
        yield loaded


def as_bytes(picture: Image.Image) -> "np.ndarray":
    return np.asarray(picture)


@pytest.mark.parametrize("quarters", [0, 1])
def test_lines_are_read_with_their_places_however_the_page_lies(
    engine: ModuleType, quarters: int
) -> None:
    picture = as_bytes(picture_of_text())
    scan = engine.read(np.rot90(picture, quarters))
    assert [line.text for line in scan.lines] == list(SENTENCES)
    assert scan.confidence > 0.95
    first = scan.lines[0]
    # As it lies upright: 40 from the left, and 55 from above.
    starts = {0: (40, 57), 1: (57, 660)}
    assert (first.x1, first.y1) == pytest.approx(starts[quarters], abs=14)
    assert first.height == pytest.approx(34, abs=14)


def test_a_page_with_nothing_on_it_has_no_lines(engine: ModuleType) -> None:
    blank = as_bytes(picture_of_text([]))
    assert engine.read(blank) == Scan(700, 130, (), None)
    assert engine._read_turned(blank, 1) == []
    assert engine.read(np.zeros((4, 900, 3), "uint8")) == Scan(900, 4, (), None)


def test_what_cannot_be_read_is_left_out_and_counts_against_the_page(engine: ModuleType) -> None:
    page = picture_of_text([SENTENCES[0], "", ""])
    draw, chosen = ImageDraw.Draw(page), random.Random(3)  # noqa: S311
    for letter in range(16):
        corners = [(40 + 24 * letter + chosen.randint(0, 18), 90 + chosen.randint(0, 30))
                   for _ in range(5)]  # fmt: skip
        draw.line(corners, "black", 3)
    scan = engine.read(as_bytes(page))
    sentence, *scribble = scan.lines
    assert sentence.text == SENTENCES[0]
    assert all(engine.MIN_CONFIDENCE <= line.confidence < UNSURE_BELOW for line in scribble)
    assert scan.confidence < UNSURE_BELOW
    # What the model makes of a line of Cyrillic, 300 pixels long and 30 high.
    box = np.array([[0, 0], [300, 0], [300, 30], [0, 30]], "float32")
    assert engine._line(",", 0.9, box).confidence < engine.MIN_CONFIDENCE


def test_a_line_up_the_edge_runs_from_below(engine: ModuleType) -> None:
    box = np.array([[20, 100], [40, 100], [40, 300], [20, 300]], "float32")
    assert engine._line("A", 1.0, box)[2:] == (30, 300, 30, 100, 20)


def test_a_page_is_drawn_for_ocr_with_few_pixels() -> None:
    picture = pdf_loader.picture_of(mixed(), number=1)
    assert picture.shape == (2200, 1700, 3)
    wide = Pdf().bytes().replace(b"/MediaBox[0 0 612 792]", b"/MediaBox[0 0 9999 999]")
    assert np.prod(pdf_loader.picture_of(wide, number=1).shape[:2]) < 5_100_000
    with pytest.raises(UnreadableFile, match="cannot be drawn"):
        pdf_loader.picture_of(b"%PDF-1.4 and nothing of the kind", number=1)


def test_the_reader_takes_what_ocr_made_of_a_page() -> None:
    scans = {1: scan_of(("Of the lighthouse", 40, 50))}
    content = packed(picture_of_text(), "PNG")
    document = read(content, filename="a.png", media_type=PNG, limits=limits(), scans=scans)
    assert texts(document) == ["Of the lighthouse"]


def mixed() -> bytes:
    """Text, a scan with a number stamped on, a page of text, and an empty one."""
    scan = packed(picture_of_text(), "PDF")
    text = Pdf().line("Tide tables of the coast, of 1874.", 700)
    return joined_pdfs(text.bytes(), scan, Pdf().line("High water.", 700).bytes(), Pdf().bytes())


def loaded(content: bytes, name: str = "a.pdf", **bounds: float) -> LoadedDocument:
    return load_file(content, filename=name, limits=limits(**bounds))[0]


def test_scanned_pages_stand_between_the_others_and_are_named() -> None:
    document = loaded(mixed())
    assert [(block.page, " ".join(block.text.split())) for block in document.blocks] == [
        (1, "Tide tables of the coast, of 1874."), (2, READ), (3, "High water."),
    ]  # fmt: skip
    said = document.metadata["ocr"]
    assert (said["pages"], said["unsure_pages"], said["unread_pages"]) == ([2], [], [])
    assert said["confidence"] > 0.95
    assert len(document.blocks[1].ocr_boxes) == 2
    assert document.scans == ()


def test_without_ocr_scanned_pages_are_named_as_unread() -> None:
    said = loaded(mixed(), ocr=False).metadata["ocr"]
    assert said == {"unread_pages": [2]}
    with pytest.raises(EmptyDocument, match=r"OCR is off \(PKB_OCR\)"):
        loaded(packed(picture_of_text(), "PNG"), "a.png", ocr=False)


def test_pages_beyond_the_bound_are_named_as_unread_or_the_file_is_refused() -> None:
    assert loaded(mixed(), max_scanned_pages=0).metadata["ocr"]["unread_pages"] == [2]
    with pytest.raises(TooLarge, match="1 scanned pages; a request has 0 read"):
        loaded(mixed(), max_scanned_pages=0, all_scans=True)


def test_a_page_that_takes_too_long_is_named_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scans, "PAGE_WALL_S", 0.001)
    document = loaded(mixed())
    assert texts(document) == ["Tide tables of the coast, of 1874.", "High water."]
    assert document.metadata["ocr"]["unread_pages"] == [2]
    with pytest.raises(UnreadableFile, match="takes more than"):
        loaded(packed(picture_of_text(), "PNG"), "a.png")


def scanned_pages(content: bytes) -> tuple[int, ...]:
    return pdf_loader.load(content, filename="a.pdf").scans


def test_a_picture_under_a_page_of_text_is_no_scan() -> None:
    picture = packed(picture_of_text(), "PDF")
    words = "x" * (MAX_STRAY_CHARS // 2)
    few, many = Pdf().line(words, 700), Pdf().line(words, 700).line(words, 600)
    assert scanned_pages(stamped(picture, few.bytes())) == (1,)
    assert scanned_pages(stamped(picture, many.bytes())) == ()
    assert scanned_pages(stamped(picture, few.bytes(), share=0.4)) == ()


def stamped(picture: bytes, text: bytes, *, share: float = 1.0) -> bytes:
    """The page of one PDF with the picture of another drawn over a share of its height."""
    whole, source = PdfDocument(text), PdfDocument(picture)
    page, image = whole[0], next(source[0].get_objects())
    placed = PdfImage.new(whole)
    placed.set_bitmap(image.get_bitmap())
    placed.set_matrix(PdfMatrix().scale(612, 792 * share))
    page.insert_obj(placed)
    page.gen_content()
    out = io.BytesIO()
    whole.save(out)
    return out.getvalue()


def test_of_a_page_with_text_and_a_scan_the_fuller_is_kept() -> None:
    content = Pdf().line("Page 7 of the tide tables", 700).bytes()
    fuller = {1: scan_of(("Page 7 of the tide tables of Bavoke", 40, 50))}
    poorer = {1: scan_of(("Page 7", 40, 50))}
    assert texts(pdf_loader.load_scanned(content, filename="", scans=fuller)) == [
        "Page 7 of the tide tables of Bavoke"
    ]
    assert texts(pdf_loader.load_scanned(content, filename="", scans=poorer)) == [
        "Page 7 of the tide tables"
    ]


def test_where_ocr_finds_nothing_either_there_is_no_document() -> None:
    blank = {1: Scan(9, 9, (), None)}
    with pytest.raises(EmptyDocument, match="OCR found no text on the 1 pages"):
        pdf_loader.load_scanned(Pdf().bytes(), filename="", scans=blank)


def test_a_summary_names_unsure_pages_and_is_empty_where_nothing_was_found() -> None:
    scans = {1: scan_of(("Some words", 0, 9)), 2: scan_of(("Sgme wgrds", 0, 9), sure=0.7),
             3: Scan(9, 9, (), None), 4: Scan(9, 9, (), 0.2)}  # fmt: skip
    assert summarize_ocr(scans, [5]) == {
        "pages": [1, 2], "confidence": 0.63, "unsure_pages": [2, 4], "unread_pages": [5],
    }  # fmt: skip
    assert summarize_ocr({3: scans[3]}, []) == {}
