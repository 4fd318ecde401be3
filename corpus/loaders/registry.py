"""Register the loader of each media type, and the media type of each file extension."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from corpus.errors import UnsupportedMediaType
from corpus.loaders.blocks import Loader

OOXML = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."

PLAIN = "text/plain"
MARKDOWN = "text/markdown"
RESTRUCTUREDTEXT = "text/x-rst"
HTML = "text/html"
XML = "application/xml"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/jsonl"
NOTEBOOK = "application/x-ipynb+json"
EMAIL = "message/rfc822"
SUBTITLES = "text/vtt"
ASCIIDOC = "text/asciidoc"
CODE = "text/x-source"
PDF = "application/pdf"
DOCX = OOXML + "wordprocessingml.document"
PPTX = OOXML + "presentationml.presentation"
XLSX = OOXML + "spreadsheetml.sheet"
ODT = ODF + "text"
ODS = ODF + "spreadsheet"
ODP = ODF + "presentation"
EPUB = "application/epub+zip"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
PPT = "application/vnd.ms-powerpoint"
OUTLOOK = "application/vnd.ms-outlook"
RTF = "application/rtf"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"
WEBP = "image/webp"
BMP = "image/bmp"
IMAGES = (PNG, JPEG, TIFF, WEBP, BMP)


@dataclass(frozen=True, slots=True)
class Format:
    """The loader and names of one media type.

    Attributes:
        module: Its module in ``corpus.loaders.formats``, without ``_loader``.
        name: Display name.
        extensions: Without the dot; the first is the usual one.
        is_zip: Whether the zip directory is checked before loading.
        in_process: Whether it is read without a child process: our code over plain text, or the
            standard library's, in linear time.
        is_prose: Whether its questions, terms and captions label the text beside them.
        backend: Dotted path of a loader of one's own, which takes the place of ``module``.
        options: Its arguments.
    """

    module: str
    name: str
    extensions: tuple[str, ...]
    is_zip: bool = False
    in_process: bool = False
    is_prose: bool = False
    backend: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


_CODE_EXTENSIONS = (
    "py pyi js mjs cjs ts tsx jsx java c h cc cpp cxx hpp cs go rs rb php pl pm sh bash zsh fish "
    "sql r jl lua swift kt kts scala clj ex exs erl hs ml fs vb pas f90 asm css scss sass less vue "
    "svelte toml ini cfg conf env properties yaml yml tf proto graphql gradle cmake mk bat ps1 "
    "dockerfile makefile diff patch"
)

FORMATS: dict[str, Format] = {
    PLAIN: Format("plain", "plain text", ("txt", "text", "log"), in_process=True, is_prose=True),
    MARKDOWN: Format(
        "markdown", "Markdown", ("md", "markdown", "mdown", "mkd"), in_process=True, is_prose=True
    ),
    RESTRUCTUREDTEXT: Format(
        "restructuredtext", "reStructuredText", ("rst", "rest"), is_prose=True
    ),
    ASCIIDOC: Format("asciidoc", "AsciiDoc", ("adoc", "asciidoc", "asc"), is_prose=True),
    HTML: Format("html", "HTML", ("html", "htm", "xhtml"), is_prose=True),
    XML: Format("xml", "XML", ("xml", "nxml", "rss", "atom", "svg")),
    PDF: Format("pdf", "PDF", ("pdf",), is_prose=True),
    DOCX: Format("docx", "Word (DOCX)", ("docx", "docm", "dotx"), is_zip=True, is_prose=True),
    PPTX: Format("pptx", "PowerPoint (PPTX)", ("pptx", "pptm", "ppsx"), is_zip=True),
    XLSX: Format("xlsx", "Excel (XLSX)", ("xlsx", "xlsm", "xltx"), is_zip=True),
    CSV: Format("csv", "CSV", ("csv",), in_process=True),
    TSV: Format("csv", "TSV", ("tsv", "tab"), in_process=True),
    ODT: Format("odf", "OpenDocument text (ODT)", ("odt", "ott"), is_zip=True, is_prose=True),
    ODS: Format("odf", "OpenDocument spreadsheet (ODS)", ("ods", "ots"), is_zip=True),
    ODP: Format("odf", "OpenDocument presentation (ODP)", ("odp", "otp"), is_zip=True),
    EPUB: Format("epub", "EPUB", ("epub",), is_zip=True, is_prose=True),
    DOC: Format("office97.doc", "old Word (DOC)", ("doc",), is_prose=True),
    XLS: Format("office97.xls", "old Excel (XLS)", ("xls", "xlt")),
    XLSB: Format("office97.xls", "binary Excel (XLSB)", ("xlsb",), is_zip=True),
    PPT: Format("office97.ppt", "old PowerPoint (PPT)", ("ppt", "pps")),
    RTF: Format("office97.rtf", "Rich Text (RTF)", ("rtf",), is_prose=True),
    OUTLOOK: Format("office97.msg", "Outlook message (MSG)", ("msg",)),
    EMAIL: Format("email", "e-mail (EML)", ("eml",)),
    NOTEBOOK: Format("notebook", "Jupyter notebook", ("ipynb",), in_process=True),
    JSON: Format("json", "JSON", ("json",), in_process=True),
    JSON_LINES: Format("jsonl", "JSON Lines", ("jsonl", "ndjson"), in_process=True),
    SUBTITLES: Format(
        "subtitles", "subtitles (VTT, SRT)", ("vtt", "srt", "sbv", "ass", "ssa"), in_process=True
    ),
    PNG: Format("image", "PNG image", ("png",), is_prose=True),
    JPEG: Format("image", "JPEG image", ("jpg", "jpeg"), is_prose=True),
    TIFF: Format("image", "TIFF image", ("tif", "tiff"), is_prose=True),
    WEBP: Format("image", "WebP image", ("webp",), is_prose=True),
    BMP: Format("image", "BMP image", ("bmp",), is_prose=True),
    CODE: Format("code", "source code", tuple(_CODE_EXTENSIONS.split()), in_process=True),
}

MEDIA_TYPE_OF_EXTENSION: dict[str, str] = {
    extension: media_type for media_type, known in FORMATS.items() for extension in known.extensions
}

# These share a container (OLE2); their streams distinguish them.
OLE = frozenset((DOC, XLS, PPT, OUTLOOK))

ALIASES: dict[str, str] = {
    "application/xhtml+xml": HTML,
    "text/xml": XML,
    "image/svg+xml": XML,
    "application/rss+xml": XML,
    "application/atom+xml": XML,
    "text/x-markdown": MARKDOWN,
    "text/prs.fallenstein.rst": RESTRUCTUREDTEXT,
    "text/restructuredtext": RESTRUCTUREDTEXT,
    "application/x-ndjson": JSON_LINES,
    "application/csv": CSV,
    "application/x-pdf": PDF,
    "application/x-subrip": SUBTITLES,
    "text/json": JSON,
    "text/rtf": RTF,
    "text/richtext": RTF,
    "application/x-rtf": RTF,
    "image/jpg": JPEG,
    "image/x-ms-bmp": BMP,
}


def supported_extensions() -> tuple[str, ...]:
    """Return every supported extension without the dot, sorted."""
    return tuple(sorted(MEDIA_TYPE_OF_EXTENSION))


def unsupported_media_type(what: str) -> UnsupportedMediaType:
    """Return the error for an unsupported file."""
    names = ", ".join(known.name for known in FORMATS.values())
    return UnsupportedMediaType(f"{what} is not supported. Supported are: {names}.")


# Those of one's own, as given to ``register``.
OWN: dict[str, Mapping[str, Any]] = {}


def register(own: Mapping[str, Mapping[str, Any]]) -> None:
    """Add loaders of one's own, by media type; they replace others of it and of its extensions."""
    for media_type, spec in own.items():
        known = FORMATS.get(media_type) or Format("", media_type, ())
        FORMATS[media_type] = replace(
            known,
            name=spec["NAME"] or known.name,
            extensions=(*spec["EXTENSIONS"], *known.extensions),
            in_process=False,
            backend=spec["BACKEND"],
            options=spec["OPTIONS"],
        )
        MEDIA_TYPE_OF_EXTENSION.update(dict.fromkeys(spec["EXTENSIONS"], media_type))
    OWN.update(own)


def loader_for(media_type: str) -> Loader:
    """Import and return the loader of a registered media type.

    Raises:
        ImportError, AttributeError, TypeError: One of one's own is not there, or takes other
            options.
    """
    known = FORMATS[media_type]
    if known.backend:
        module, _, name = known.backend.rpartition(".")
        return cast("Loader", getattr(importlib.import_module(module), name)(**known.options))
    module = f"corpus.loaders.formats.{known.module}_loader"
    return cast("Loader", importlib.import_module(module))
