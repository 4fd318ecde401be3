"""What of a question is meant to the letter, and what parts it has."""

import re

_QUOTED = re.compile(
    r'"([^"]{2,200})"|\u201c([^\u201d]{2,200})\u201d|\u00ab([^\u00bb]{2,200})\u00bb'
)
# Names that stand in no dictionary: error codes, versions, paths, variables.
_IDENTIFIER = re.compile(
    r"""(?<![\w./:-])(?:
        (?=[\w./:-]*[A-Za-z])(?=[\w./:-]*\d)\w+(?:[-./:]\w+)+  # CVE-2024-1234, v2.13.0
        | (?=\w*[A-Za-z])(?=\w*[\d_])\w{2,}                     # ERR_404, snake_case, sha256
        | [a-z]+(?:[A-Z][a-z0-9]*)+                             # camelCase
        | \d+(?:\.\d+){2,}                                      # 10.0.0.1
    )(?![\w/])""",
    re.VERBOSE,
)

# Each is looked for in every candidate, and adds an expression that Django nests.
MOST_PHRASES = 16

# People do not begin each sentence of a question with a capital.
_SENTENCE_END = re.compile(r"(?<=[.?!;])\s+|(?<=[\u3002\uff1f\uff01\uff1b])")
# Sentences of a question that are searched for by themselves, and words that make one.
MOST_SENTENCES = 8
WORDS_IN_A_SENTENCE = 3


def find_phrases(text: str) -> tuple[str, ...]:
    """Return the quoted phrases and the identifiers of a question, each once, in order.

    At most ``MOST_PHRASES``, the first ones.
    """
    quoted = ["".join(groups).strip() for groups in _QUOTED.findall(text)]
    identifiers = [match.group() for match in _IDENTIFIER.finditer(text)]
    return tuple(dict.fromkeys(filter(None, (*quoted, *identifiers))))[:MOST_PHRASES]


def find_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a question of several, at most ``MOST_SENTENCES``; else none."""
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    sentences = tuple(part for part in parts if len(part.split()) >= WORDS_IN_A_SENTENCE)
    return sentences[:MOST_SENTENCES] if len(sentences) > 1 else ()
