"""Detect the media type of a file: by content, then by name, then as declared."""

import io
import re
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import PurePath

from corpus.errors import BinaryText, UnreadableFile
from corpus.loaders import registry
from corpus.loaders.charset import wide_encoding
from corpus.loaders.limits import LoaderLimits

# First bytes of zip archives, full and empty; of old Office files; of marked text.
_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_MARK = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_MARKS = (
    (b"\x89PNG\r\n\x1a\n", registry.PNG),
    (b"\xff\xd8\xff", registry.JPEG),
    (b"II*\x00", registry.TIFF),
    (b"MM\x00*", registry.TIFF),
    (b"{\\rtf", registry.RTF),
)
# Header lengths that follow the first 14 bytes of a bitmap.
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
# PDF readers accept the header anywhere in the first kilobyte.
_PDF_HEADER_BYTES = 1024
# Bytes that are inspected to detect text.
_HEAD_BYTES = 8192
_OOXML = (
    ("word/", registry.DOCX),
    ("ppt/", registry.PPTX),
    ("xl/workbook.bin", registry.XLSB),
    ("xl/", registry.XLSX),
)
# Possessive, because a thousand comments could otherwise match in exponential time.
_HTML = re.compile(
    rb"\A\s*+(?:<\?xml[^>]*+>\s*+)?+(?:<!--(?:(?!-->).)*+-->\s*+)*+<(?:!doctype\s+html|html)\b",
    re.I | re.S,
)
_XML = re.compile(rb"\A\s*+<\?xml[\s?]")
_MAIL_HEADER = re.compile(
    rb"^(?:Received|Return-Path|Message-ID|MIME-Version|Delivered-To|From|Date|Subject): ?\S",
    re.I | re.M,
)
_RST = re.compile(
    rb"^\.\. (?:[a-z][a-z:-]+::|_[^\n:]+:)|:(?:ref|doc|class|meth|func|mod|term|attr):`", re.M
)
_RST_TITLE = re.compile(rb"^\S[^\n]{2,}\n([=\-~^\"*#+`'.:_])\1{2,}[ \t\r]*$", re.M)
# Prose may begin with one line like "From: " or "Date: ", but hardly with three.
_MIN_MAIL_HEADERS = 3
# These extensions are weak evidence: the content may say more.
_GENERIC = frozenset({"", "txt", "text", "log", "bin", "dat"})
# Formats that are detected only to name them in the rejection.
_UNREAD_MARKS = (
    (b"%!PS", "PostScript (convert it to PDF, as ps2pdf does)"),
    (b"\xffWPC", "WordPerfect (open it in LibreOffice and save it as DOCX)"),
    (b"AT&TFORM", "DjVu (convert it to PDF, as ddjvu does)"),
    (b"\x1f\x8b", "A gzip archive (unpack it and add the file inside)"),
    (b"BZh", "A bzip2 archive (unpack it and add the file inside)"),
)
_OLD_OFFICE = registry.OLE | {registry.RTF}
# By a stream that only they have; formats that may contain others come first.
_OLE_KINDS = (
    ("__properties_version1.0", registry.OUTLOOK),
    ("PowerPoint Document", registry.PPT),
    ("WordDocument", registry.DOC),
    ("Workbook", registry.XLS),
    ("Book", registry.XLS),
)


def detect_media_type(
    content: bytes, *, filename: str = "", declared: str = "", limits: LoaderLimits
) -> str:
    """Return the registered media type of a file.

    Args:
        content: The file's bytes, not empty.
        filename: Its name; only the extension counts.
        declared: The media type declared by the sender; the last resort.
        limits: Limits of a zip directory.

    Raises:
        UnsupportedMediaType: No loader reads it.
        UnreadableFile: It is a broken or encrypted container.
        BinaryText: Its name says text, but its content is binary.
    """
    extension = PurePath(filename).suffix.lower().removeprefix(".")
    if not extension:
        extension = PurePath(filename).name.lower()  # Makefile, Dockerfile
    named = registry.MEDIA_TYPE_OF_EXTENSION.get(extension, "")
    if named and registry.FORMATS[named].backend:
        return named
    bare = declared.partition(";")[0].strip().lower()
    known = registry.ALIASES.get(bare, bare)
    expected = named or (known if known in registry.FORMATS else "")
    marked = _marked_media_type(content, named, limits)
    if marked:
        return marked
    may_be_text = bare in {"", "application/octet-stream"} or bare.startswith("text/")
    if not expected and not may_be_text:
        raise registry.unsupported_media_type(f"A file of type {declared}")
    if expected in _OLD_OFFICE:
        # Pages and tables as text, which web programs name so that Office opens them.
        return _text_media_type(content, "", "")
    is_binary = expected == registry.PDF or expected in registry.IMAGES
    if expected and (is_binary or registry.FORMATS[expected].is_zip):
        return expected
    return _text_media_type(content, extension, expected)


def _marked_media_type(content: bytes, named: str, limits: LoaderLimits) -> str:
    """Return the media type of a file with known first bytes, else ""."""
    if b"%PDF-" in content[:_PDF_HEADER_BYTES]:
        return registry.PDF
    for mark, media_type in _MARKS:
        if content.startswith(mark):
            return media_type
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return registry.WEBP
    if content[:2] == b"BM" and int.from_bytes(content[14:18], "little") in _BMP_HEADERS:
        return registry.BMP
    if content.startswith(_ZIP_MARKS):
        return _zip_media_type(content, limits)
    if not content.startswith(_OLE_MARK):
        return ""
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise UnreadableFile("The file is protected by a password.")
    kinds = [kind for stream, kind in _OLE_KINDS if stream.encode("utf-16-le") in content]
    if not kinds:
        raise registry.unsupported_media_type(
            "A file in the old Office container format (save it as DOCX, XLSX, PPTX or PDF)"
        )
    # Its streams may belong to a file inside it.
    return named if named in kinds else kinds[0]


def _zip_media_type(content: bytes, limits: LoaderLimits) -> str:
    # Entries are counted first: parsing a million entries takes seconds.
    if content.count(b"PK\x01\x02") > limits.max_entries:
        raise UnreadableFile(f"The archive has more than {limits.max_entries} entries.")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
            # OpenDocument and EPUB store their type in an entry.
            stored = registry.EPUB if "META-INF/container.xml" in names else ""
            # RuntimeError: the entry is encrypted; OSError: its bzip2 data is broken.
            with suppress(
                KeyError, RuntimeError, EOFError, OSError, zlib.error, zipfile.BadZipFile
            ):
                with archive.open("mimetype") as file:
                    named = file.read(200).decode("ascii", "replace").strip()
                named = named.removesuffix("-template")
                stored = named if named in registry.FORMATS else ""
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
        raise UnreadableFile(f"The zip container is damaged: {error}") from error
    if stored:
        return stored
    for prefix, media_type in _OOXML:
        if any(name.startswith(prefix) for name in names) and "[Content_Types].xml" in names:
            return media_type
    is_iwork = any(name.endswith(".iwa") for name in names)
    raise registry.unsupported_media_type(
        "A file of Pages, Numbers or Keynote (export it there to Word, Excel or PowerPoint)"
        if is_iwork
        else "A zip archive (unpack it and add the files inside)"
    )


def _text_media_type(content: bytes, extension: str, expected: str) -> str:
    """Return the kind of text of a text file: as expected, else as its first lines show."""
    if not content.startswith(_TEXT_MARKS):
        _reject_binary(content, expected)
    head = content[:_HEAD_BYTES]
    if expected not in ("", registry.PLAIN) and extension not in _GENERIC:
        return registry.HTML if expected == registry.XML and _HTML.match(head) else expected
    headers = re.split(rb"\r?\n\r?\n", head.lstrip(), maxsplit=1)[0]
    has_title = _RST_TITLE.search(head.replace(b"\r\n", b"\n"))
    signs = (
        (registry.HTML, _HTML.match(head)),
        (registry.XML, _XML.match(head)),
        (registry.SUBTITLES, head.startswith(b"WEBVTT")),
        (registry.EMAIL, len(_MAIL_HEADER.findall(headers)) >= _MIN_MAIL_HEADERS),
        (registry.RESTRUCTUREDTEXT, has_title and _RST.search(head)),
    )
    return next((kind for kind, sign in signs if sign), expected or registry.PLAIN)


def _reject_binary(content: bytes, expected: str) -> None:
    """Reject content with NUL bytes that is not UTF-16 or UTF-32."""
    for mark, name in _UNREAD_MARKS:
        if content.startswith(mark):
            raise registry.unsupported_media_type(name)
    head = content[:_HEAD_BYTES]
    if b"\x00" not in head or wide_encoding(head):
        return
    import puremagic  # noqa: PLC0415 - not needed for most files

    try:
        kind = puremagic.from_string(head, mime=True)
    except (puremagic.PureError, ValueError):
        kind = ""
    if kind and not kind.startswith("text/"):
        raise registry.unsupported_media_type(f"{kind} (by its content)")
    if expected:
        raise BinaryText("The file holds NUL bytes: it is not text.")
    raise registry.unsupported_media_type("A binary file of unknown kind")
