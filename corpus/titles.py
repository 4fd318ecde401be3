"""Put the words of a file's path before the title of its passages, which are found by both."""

import re
from pathlib import PurePosixPath

MAX_FILE_WORDS_CHARS = 200
# Letters in a row; a capital begins a word in "AcmeLeave". A year is a word, too.
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z]))|(?<!\d)(?:19|20)\d\d(?!\d)")
# They name no subject.
_GENERIC = frozenset({"index", "readme", "untitled", "document", "scan", "img"})


def words_of_path(path: str, *, title: str) -> str:
    """Return the words of a file's folders and name that a title lacks, separated by spaces.

    Often only they tell the subject: the title of ``acme/leave.md`` may be "Taking leave".
    """
    known = {word.casefold() for word in re.findall(r"[^\W_]+", title)} | _GENERIC
    file = PurePosixPath(path)
    words = _WORD.findall(f"{file.parent}/{file.stem}")
    lacking = dict.fromkeys(word for word in words if word.casefold() not in known)
    return " ".join(lacking)[:MAX_FILE_WORDS_CHARS]


def full_title(title: str, *, file_words: str) -> str:
    """Return a title after the words that only its file's path has."""
    return ": ".join(filter(None, (file_words, title)))


def ranked_text(text: str, *, title: str, file_words: str) -> str:
    """Return the text of a passage for the reranker, which a title helps most in front."""
    lead = full_title(title, file_words=file_words)
    return f"{lead}\n{text}" if lead else text
