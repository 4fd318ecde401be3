"""What reviewers wrote beside a Word, Excel or PowerPoint file, with who and when."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zipfile import ZipFile

from corpus.loaders.archives import read_xml
from corpus.loaders.ooxml import relations
from corpus.loaders.stating import stated_number
from corpus.loading import Block

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# The three programs, and two generations of each, agree on the local names but on little else.
_COMMENTS = frozenset(("cm", "comment", "threadedComment", "reply"))
_TEXTS = frozenset(("t", "text"))
_DATES = ("dt", "dT", "created", "date")
_AUTHOR_PARTS = frozenset(("commentAuthors", "authors", "person"))
COMMENT_PARTS = frozenset(("comments", "threadedComment"))


def comment_authors(archive: ZipFile, main_part: str) -> dict[str, str]:
    """The names of the reviewers by their ids, as listed beside the main part."""
    found: dict[str, str] = {}
    for kind, name in relations(archive, main_part).values():
        root = read_xml(archive, name) if kind in _AUTHOR_PARTS else None
        for element in () if root is None else root.iter():
            author = element.get("name") or element.get("displayName")
            if author and element.get("id"):
                initials = element.get("initials")
                found[element.get("id", "")] = f"{author} ({initials})" if initials else author
    return found


def comment_blocks(
    archive: ZipFile, name: str, authors: dict[str, str], *, page: int | None = None
) -> Iterator[Block]:
    """Each comment of a part, as ``Comment by NAME, TIME: text``."""
    root = read_xml(archive, name)
    if root is None:
        return
    listed = [element.text or "" for element in root.iter() if _local(element.tag) == "author"]
    for comment in root.iter():
        if _local(comment.tag) not in _COMMENTS:
            continue
        text = _text(comment)
        # A threaded comment leaves a copy with this note for old programs.
        if text and not text.startswith("[Threaded comment]"):
            stated = {_local(key): value for key, value in comment.attrib.items()}
            author = _author(stated, authors, listed)
            date = next((stated[key] for key in _DATES if stated.get(key)), "")
            by = ", ".join(part for part in (author, date) if part)
            yield Block(f"Comment by {by}: {text}" if by else f"Comment: {text}", page=page)


def _author(stated: dict[str, str], authors: dict[str, str], listed: list[str]) -> str:
    number = stated.get("authorId", "")
    if number in authors:
        return authors[number]
    if stated.get("personId", "") in authors:
        return authors[stated["personId"]]
    at = stated_number(number, default=len(listed), most=len(listed))
    return listed[at] if at < len(listed) else stated.get("author", "")


def _text(comment: "Element") -> str:
    """Its own words; a reply inside it is a comment by itself."""
    pieces = []
    for child in comment:
        tag = _local(child.tag)
        if tag in _TEXTS and child.text:
            pieces.append(child.text)
        if tag not in ("replyLst", "reply"):
            pieces.append(_text(child))
    return " ".join("".join(f"{piece} " for piece in pieces if piece).split())


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
