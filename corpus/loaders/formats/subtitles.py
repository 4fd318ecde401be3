"""Subtitles (WebVTT, SubRip): what is said, without the times."""

import html
import re

from corpus.loaders.base import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain import paragraphs

_TIMES = re.compile(r"(?<!\d)(?:\d++:)?\d\d:\d\d[.,]\d+\s+-->")
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
_VOICE = re.compile(r"<v(?:\.[^ <>]{1,100})?\s{1,9}([^<>]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}]{0,200}\}")
_BLOCK_CHARS = 400
_TERMINAL = (".", "!", "?", "…", "。")


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read subtitles; cues are joined to blocks that end where a sentence does."""
    blocks: list[Block] = []
    lines: list[str] = []
    speaker = ""
    for cue in paragraphs(decode(content)):
        voice, text = _spoken(cue)
        changed = voice != speaker
        long = sum(map(len, lines)) >= _BLOCK_CHARS and lines[-1].endswith(_TERMINAL)
        if lines and text and (changed or long):
            blocks.append(Block("\n".join(lines)))
            lines = []
        if text:
            lines.append(f"{voice}: {text}" if voice and changed else text)
            speaker = voice
    if lines:
        blocks.append(Block("\n".join(lines)))
    return LoadedDocument(tuple(blocks))


def _spoken(cue: str) -> tuple[str, str]:
    """Who speaks, where it is said, and the words; both empty for what is no cue."""
    lines = cue.split("\n")
    times = [number for number, line in enumerate(lines) if _TIMES.search(line)]
    if not times and lines[0].startswith(_NOT_CUES):
        return "", ""
    text = " ".join(lines[times[0] + 1 :] if times else lines)
    voice = _VOICE.search(text)
    words = html.unescape(_TAG.sub("", text))
    return (voice.group(1).strip() if voice else ""), " ".join(words.split())
