"""Subtitles (WebVTT, SubRip, SubViewer, SubStation): words, speakers and times."""

import html
import re
from typing import NamedTuple

from corpus.loaders.blocks import Block, LoadedDocument
from corpus.loaders.charset import decode
from corpus.loaders.formats.plain_text import paragraphs
from corpus.loaders.formats.transcripts import TIME, seconds_of, time_label

_TIMES = re.compile(rf"(?<!\d)({TIME})[.,]\d+(?:\s+-->|,{TIME}[.,]\d)")
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")
_VOICE = re.compile(r"<v(?:\.[^ <>]{1,100})?\s{1,9}([^<>]{1,200})>")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<\d[\d:.]{0,20}>|\{\\[^{}]{0,200}\}")
_BLOCK_CHARS = 400
_TERMINAL = (".", "!", "?", "…", "。")
# SubStation: layer, start, end, style, speaker, three margins, effect, and text.
_DIALOGUE = re.compile(rf"^Dialogue:[^,\n]*,\s*({TIME})[^,\n]*,(?:[^,\n]*,){{2}}([^,\n]*)"
                       r"(?:,[^,\n]*){4},(.*)$", re.M)  # fmt: skip
_LINE_BREAK = re.compile(r"\\[Nnh]")


class _Cue(NamedTuple):
    """One subtitle: its time and speaker, which may be empty, and its words with markup."""

    time: str
    voice: str
    source: str


def load(content: bytes, *, filename: str) -> LoadedDocument:
    """Read subtitles; join cues to blocks that end with a sentence."""
    text = decode(content)
    cues = [
        _Cue(time_label(seconds_of(start)), voice.strip(), _LINE_BREAK.sub(" ", words))
        for start, voice, words in sorted(
            _DIALOGUE.findall(text), key=lambda line: seconds_of(line[0])
        )
    ]
    for part in () if cues else paragraphs(text):
        lines = part.split("\n")
        times = [number for number, line in enumerate(lines) if _TIMES.search(line)]
        if not times and lines[0].startswith(_NOT_CUES):
            continue
        words = " ".join(lines[times[0] + 1 :] if times else lines)
        time = _TIMES.search(lines[times[0]]) if times else None
        label = time_label(seconds_of(time[1])) if time else ""
        voice = _VOICE.search(words)
        cues.append(_Cue(label, voice[1].strip() if voice else "", words))
    # Cues of one speaker make a block, up to the end of a sentence after the usual length.
    blocks: list[Block] = []
    spoken: list[str] = []
    speaker = label = ""
    for cue in cues:
        words = " ".join(html.unescape(_TAG.sub("", cue.source)).split())
        if not words:
            continue
        is_long = sum(map(len, spoken)) >= _BLOCK_CHARS and spoken[-1].endswith(_TERMINAL)
        if spoken and (cue.voice != speaker or is_long):
            blocks.append(Block("\n".join(spoken), labels=(label,) if label else ()))
            spoken = []
        label = label if spoken else cue.time
        spoken.append(f"{cue.voice}: {words}" if cue.voice and cue.voice != speaker else words)
        speaker = cue.voice
    if spoken:
        blocks.append(Block("\n".join(spoken), labels=(label,) if label else ()))
    return LoadedDocument(tuple(blocks))
