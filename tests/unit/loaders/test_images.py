"""Images: pictures of pages, within limits."""

import io
import struct
import zlib

import pytest
from PIL import Image

from corpus.errors import EmptyDocument, PageNotFound, UnreadableFile
from corpus.loaders import load_file, registry
from corpus.loaders.blocks import Scan, ScanLoader
from corpus.loaders.formats import image_loader
from corpus.loaders.formats.pdf.rendering import WIDTH_PX
from corpus.loaders.media_types import detect_media_type
from corpus.loaders.ocr import OCR_PIXELS
from corpus.loaders.page_images import draw_page, find_on_page
from tests.unit.loaders.sample_files import limits
from tests.unit.loaders.scanned_files import packed, picture_of_text, scan_of

KINDS = {"PNG": registry.PNG, "JPEG": registry.JPEG, "TIFF": registry.TIFF,
         "WEBP": registry.WEBP, "BMP": registry.BMP}  # fmt: skip


def shaped(png: bytes) -> tuple[int, int]:
    return Image.open(io.BytesIO(png)).size


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_told_by_its_content_and_has_one_page_for_ocr(kind: str) -> None:
    content = packed(picture_of_text(), kind)
    assert detect_media_type(content, filename="words.txt", limits=limits()) == KINDS[kind]
    assert isinstance(image_loader, ScanLoader)
    read = image_loader.load(content, filename="a")
    assert (read.blocks, read.scans, read.metadata) == ((), (1,), {"page_count": 1})
    picture = image_loader.picture_of(content, number=1)
    assert picture.shape == (180, 700, 3)
    assert picture.max() - picture.min() > 140


def test_a_text_that_begins_with_the_letters_of_a_bitmap_is_a_text() -> None:
    text = b"BMW and other makes of cars, with their years"
    assert detect_media_type(text, filename="a", limits=limits()) == registry.PLAIN


def test_what_ocr_read_is_the_text_of_an_image() -> None:
    content = packed(picture_of_text(), "PNG")
    scans = {1: scan_of(("Of the lighthouse", 40, 55), ("at Bavoke.", 40, 85))}
    read = image_loader.load_scanned(content, filename="lamp.png", scans=scans)
    assert [(block.text, block.page) for block in read.blocks] == [
        ("Of the lighthouse at Bavoke.", 1)
    ]
    assert read.title == "lamp"
    with pytest.raises(EmptyDocument, match="no text in the image"):
        image_loader.load_scanned(content, filename="", scans={1: Scan(9, 9, (), None)})


def test_each_picture_of_a_tiff_is_a_page() -> None:
    first, second = picture_of_text(["One"]), picture_of_text(["Two", "and more"])
    content = packed(first, "TIFF", save_all=True, append_images=[second])
    assert image_loader.load(content, filename="a").scans == (1, 2)
    assert image_loader.picture_of(content, number=2).shape == (180, 700, 3)
    assert shaped(image_loader.draw(content, number=1)) == (700, 130)
    with pytest.raises(PageNotFound, match="has 2 pages"):
        image_loader.draw(content, number=3)


def test_an_image_of_too_many_pixels_is_refused_by_its_header() -> None:
    header = struct.pack(">4sIIBBBBB", b"IHDR", 30_000, 30_000, 1, 0, 0, 0, 0)
    packed_rows = b"IDAT" + zlib.compress(bytes(9))
    chunks = [struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
              for body in (header, packed_rows)]  # fmt: skip
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    for read in (image_loader.count_pages, lambda content: load_file(content, filename="a.png")):
        with pytest.raises(UnreadableFile, match="30,000 x 30,000 pixels"):
            read(bomb)


def test_a_tiff_of_too_many_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_loader, "MAX_PAGES", 1)
    content = packed(picture_of_text(), "TIFF", save_all=True, append_images=[picture_of_text()])
    with pytest.raises(UnreadableFile, match="2 pages; 1 are allowed"):
        image_loader.count_pages(content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_image_is_refused(kind: str) -> None:
    content = packed(picture_of_text(), kind)
    with pytest.raises(UnreadableFile, match="damaged or truncated"):
        image_loader.picture_of(content[: len(content) // 2], number=1)


def test_a_file_that_is_no_image_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"truncated: its header cannot be read\.$"):
        load_file(b"\x89PNG\r\n\x1a\n and nothing of the kind", filename="a.png")
    with pytest.raises(UnreadableFile, match="damaged"):
        load_file(b"no image at all", filename="a.png")


def test_greys_of_16_bits_and_transparency_are_seen_as_people_see_them() -> None:
    deep = Image.new("I;16", (20, 20), 40_000)
    assert image_loader.picture_of(packed(deep, "PNG"), number=1).max() == 40_000 // 256
    clear = Image.new("RGBA", (20, 20), (0, 0, 0, 0))
    assert image_loader.picture_of(packed(clear, "PNG"), number=1).min() == 255


def test_a_photograph_is_turned_as_its_camera_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    content = packed(picture_of_text(), "JPEG", exif=exif)
    assert image_loader.picture_of(content, number=1).shape == (700, 180, 3)
    assert shaped(image_loader.draw(content, number=1)) == (180, 700)


def test_a_large_image_is_read_and_drawn_smaller() -> None:
    content = packed(Image.new("L", (3_000, 2_250), 255), "PNG")
    height, width, _ = image_loader.picture_of(content, number=1).shape
    assert height * width == pytest.approx(OCR_PIXELS, rel=0.01)
    assert shaped(draw_page(content, 1, media_type=registry.PNG)) == (WIDTH_PX, 900)
    assert image_loader.find(content, number=1, quote="", before="").page_count == 1
    layout = find_on_page(content, 1, quote="Bavoke", media_type=registry.PNG)
    assert layout == (WIDTH_PX, 900, 1, [])
