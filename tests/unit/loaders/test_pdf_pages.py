"""Pages as they are drawn, and where words stand on them."""

import io
import struct

import pytest
from PIL import Image

from corpus.characters import fold_text
from corpus.errors import PageNotFound, UnreadableFile
from corpus.loaders.formats.pdf.rendering import (
    MAX_PIXELS,
    WIDTH_PX,
    Box,
    PageLayout,
    draw,
    find,
)
from corpus.loaders.page_images import draw_page, find_on_page
from tests.unit.loaders.sample_files import Pdf

# 612 by 792 points, 1,200 pixels wide.
SCALE = WIDTH_PX / 612


def pdf() -> bytes:
    """Tides twice on page 2."""
    file = Pdf().line("The first page", 700).page()
    file.line("High water at nine.", 700).line("Low water is at three in the mor-", 500)
    file.line("ning. The next one follows.", 486).line("High water at nine.", 300)
    return file.bytes()


def pixel(png: bytes, x: int, y: int) -> tuple[int, ...]:
    color = Image.open(io.BytesIO(png)).getpixel((x, y))
    assert isinstance(color, tuple)
    return color


def is_dark_somewhere(png: bytes, box: Box) -> bool:
    across = range(box.left, box.left + box.width)
    down = range(box.top, box.top + box.height)
    return any(sum(pixel(png, x, y)) < 200 for x in across[::2] for y in down[::2])


def on_page(content: bytes, number: int, quote: str, before: str = "") -> PageLayout:
    return find(content, number=number, quote=quote, before=before)


def test_a_page_is_drawn_as_png() -> None:
    png = draw(pdf(), number=1)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (1200, 1553)
    assert pixel(png, 5, 5) == (255, 255, 255)


def test_the_box_of_a_quote_lies_over_its_letters() -> None:
    layout = on_page(pdf(), 2, quote="Low water")
    (box,) = layout.boxes
    assert (layout.width, layout.height, layout.page_count) == (1200, 1553, 2)
    assert box.top == pytest.approx((792 - 500 - 8) * SCALE, abs=6)
    assert box.left == pytest.approx(72 * SCALE, abs=6)
    assert is_dark_somewhere(draw(pdf(), number=2), box)


def test_a_quote_is_found_over_a_line_that_cuts_a_word() -> None:
    layout = on_page(pdf(), 2, quote="LOW water is at three in the  morning.")
    assert len(layout.boxes) == 2
    assert layout.boxes[0].top < layout.boxes[1].top


@pytest.mark.parametrize(("before", "y"), [("", 700), ("High water at nine. " * 4, 300)])
def test_of_two_quotes_the_one_after_the_text_before_it_is_marked(before: str, y: int) -> None:
    (box,) = on_page(pdf(), 2, quote="High water at nine.", before=before).boxes
    assert box.top == pytest.approx((792 - y - 8) * SCALE, abs=6)


@pytest.mark.parametrize("quote", ["", "... !", "Neap tides"])
def test_what_is_not_there_has_no_box(quote: str) -> None:
    assert on_page(pdf(), 2, quote=quote).boxes == []


@pytest.mark.parametrize("number", [0, 3, 10**9])
def test_a_page_that_is_not_there_is_not_found(number: int) -> None:
    with pytest.raises(PageNotFound, match="has 2 pages"):
        draw(pdf(), number=number)


def test_a_page_of_any_size_has_few_pixels() -> None:
    tall = pdf().replace(b"/MediaBox[0 0 612 792]", b"/MediaBox[0 0 99 9999]", 1)
    png = draw(tall, number=1)
    width, height = struct.unpack(">II", png[16:24])
    assert width * height < MAX_PIXELS * 1.02
    assert (on_page(tall, 1, quote="").width, height) == (width, height)


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(UnreadableFile):
        draw(b"%PDF-1.4 and nothing of the kind", number=1)


def test_letters_are_compared_without_accents_case_and_ligatures() -> None:
    assert fold_text("Éﬃcient – naïve 2\u00b2!") == "efficientnaive22"


def test_both_are_done_in_a_child_process() -> None:
    assert draw_page(pdf(), 2) == draw(pdf(), number=2)
    assert find_on_page(pdf(), 2, quote="Low water") == on_page(pdf(), 2, quote="Low water")
    with pytest.raises(PageNotFound, match="has 2 pages"):
        draw_page(pdf(), 9)
    with pytest.raises(UnreadableFile):
        find_on_page(b"%PDF-1.4 and nothing of the kind", 1, quote="")
