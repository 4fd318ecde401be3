"""Read a file of a known media type in this process, and check what came out."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath

from corpus.errors import EmptyDocument, PkbError, TextTooLong, UnreadableFile
from corpus.loaders import registry
from corpus.loaders.archives import check_zip
from corpus.loaders.blocks import (
    Attachment,
    Block,
    HasAttachments,
    LoadedDocument,
    Scan,
    ScanLoader,
)
from corpus.loaders.faq_headings import add_question_headings
from corpus.loaders.labels import LINE_LEVEL, label_blocks
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.media_types import detect_media_type
from corpus.loaders.metadata import normalize_metadata

_SURROGATES = re.compile("[\ud800-\udfff]")
_MAX_DEPTH = 3
_ATTACHMENT_LEVEL = 2


def read(
    content: bytes,
    *,
    filename: str,
    media_type: str,
    limits: LoaderLimits,
    scans: Mapping[int, Scan] | None = None,
) -> LoadedDocument:
    """Read a file with the loader of its media type.

    Args:
        scans: OCR results by page number from 1; None before OCR.

    Raises:
        UnreadableFile: It is broken, encrypted, or a bomb.
        EmptyDocument: It contains no text and no pages for OCR.
        TextTooLong: It contains more than ``limits.max_chars``.
    """
    try:
        document = _read(content, filename, media_type, limits, depth=0, scans=scans)
    except RecursionError as error:
        raise UnreadableFile("The file is nested too deeply.") from error
    chars = sum(len(block.text) + 2 for block in document.blocks)
    if chars > limits.max_chars:
        raise TextTooLong(f"The file holds {chars:,} characters; {limits.max_chars:,} are allowed.")
    if not document.blocks and not document.scans:
        name = registry.FORMATS[media_type].name
        raise EmptyDocument(f"The file was read as {name} and holds no text.")
    headings = (
        block.heading_text
        for ordinal, block in enumerate(document.blocks)
        if block.heading_level == 1
        or (ordinal == 0 and block.heading_level and block.heading_level < LINE_LEVEL)
    )
    return replace(document, title=document.title or next(headings, PurePath(filename).stem))


def _read(
    content: bytes,
    filename: str,
    media_type: str,
    limits: LoaderLimits,
    *,
    depth: int,
    scans: Mapping[int, Scan] | None = None,
) -> LoadedDocument:
    if registry.FORMATS[media_type].is_zip:
        check_zip(content, limits=limits)
    loader = registry.loader_for(media_type)
    if scans is not None and isinstance(loader, ScanLoader):
        document = loader.load_scanned(content, filename=filename, scans=scans)
    else:
        document = loader.load(content, filename=filename)
    blocks = [_clean(block) for block in document.blocks if block.text.strip()]
    if registry.FORMATS[media_type].is_prose:
        blocks = list(label_blocks(add_question_headings(blocks)))
    metadata = dict(document.metadata)
    if isinstance(loader, HasAttachments):
        metadata["attachments"] = [
            _read_attachment(attachment, blocks, limits, depth)
            for attachment in loader.attachments(content)[: limits.max_attachments]
        ]
    return replace(
        document,
        blocks=tuple(blocks),
        title=_SURROGATES.sub("\ufffd", document.title).strip(),
        metadata=normalize_metadata(
            json.loads(_SURROGATES.sub("\ufffd", json.dumps(metadata, ensure_ascii=False)))
        ),
    )


def _read_attachment(
    attachment: Attachment, blocks: list[Block], limits: LoaderLimits, depth: int
) -> dict[str, str]:
    """Add an attachment's text, or the reason for skipping it, under a heading."""
    entry = {"filename": attachment.filename, "media_type": attachment.media_type}
    try:
        if depth >= _MAX_DEPTH:
            raise UnreadableFile("Messages are attached to messages too deeply.")
        entry["media_type"] = detect_media_type(
            attachment.content,
            filename=attachment.filename,
            declared=attachment.media_type,
            limits=limits,
        )
        document = _read(
            attachment.content, attachment.filename, entry["media_type"], limits, depth=depth + 1
        )
        if document.scans:
            pages = ", ".join(map(str, document.scans))
            entry["error"] = f"Scanned, and not read inside a message: pages {pages}."
        if not document.blocks:
            return entry
    except PkbError as error:
        # An unreadable attachment must not block the message; its reason stays visible.
        return {**entry, "error": str(error)}
    name = attachment.filename or document.title or "Attachment"
    blocks.append(_clean(Block(name, heading_level=_ATTACHMENT_LEVEL, heading_text=name)))
    blocks.extend(document.blocks)
    return entry


def _clean(block: Block) -> Block:
    """Remove lone surrogates, as from a JSON escape, which cannot be stored."""
    if not _SURROGATES.search("".join((block.text, block.heading_text, *block.labels))):
        return block
    return replace(
        block,
        text=_SURROGATES.sub("\ufffd", block.text),
        heading_text=_SURROGATES.sub("\ufffd", block.heading_text),
        labels=tuple(_SURROGATES.sub("\ufffd", label) for label in block.labels),
    )
