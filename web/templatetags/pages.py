"""Template filters that format values for people."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import unquote

from django import template
from django.conf.locale import LANG_INFO
from django.utils.formats import date_format

from corpus.ingestion.original_files import has_original, has_pages
from corpus.jobs.kinds.edit_job import Act
from corpus.loaders.ocr import OCR
from corpus.loaders.registry import FORMATS
from corpus.models import Document, Job, JobItem, Site, WatchedFolder
from corpus.roots.file_systems import filter_unmounted
from corpus.roots.shown_paths import short_place, shown_path, shown_uri
from web.rendered_text import MARKDOWN, visible_text
from web.text_tables import WITH_TABLES

register = template.Library()
register.filter("has_file", has_original)
register.filter("has_pages", has_pages)
register.filter("place", shown_path)

MAX_AUTHORS = 3
# Of a year, and of a year and month, as documents state no more.
PARTIAL_DATE_LENGTHS = (4, 7)


@register.filter
def display_name(collection: object, names: Mapping[str, str]) -> str:
    """Return the name by which pages call a collection: see ``collection_names``."""
    return names.get(str(collection), str(collection))


@register.filter
def shown_name(document: Any) -> str:
    """Return the title of a document or passage, else its file name."""
    return document.title or unquote(document.name)


@register.filter
def place_name(document: Any) -> str:
    """Return the file of a document or passage, with its folder or host; empty for a text."""
    uri: str = document.source_uri
    if isinstance(document, Document):
        uri = shown_uri(uri, file_path=document.file_path)
    return short_place(uri)


# A link that the end of a preview cuts off, and marks of form that it leaves open.
_CUT_LINK = re.compile(r"!?\[([^\[\]]*)(?:\](?:\([^()\s]*)?)?$")
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_OPEN_MARKS = re.compile(r"\*\*|`|(?<!\w)__|__(?!\w)")


@register.filter
def without_markup(text: str, document: Any) -> str:
    """Return a part of a document's text on one line, without the markup of its media type."""
    if document.media_type in {MARKDOWN, *WITH_TABLES}:
        text = _ROW.sub(lambda row: row[0].strip("|-: ").replace("|", " "), text)
    if document.media_type != MARKDOWN:
        return " ".join(text.split())
    shown = visible_text(_CUT_LINK.sub(r"\1", text), media_type=MARKDOWN)
    return _OPEN_MARKS.sub("", shown)


@register.filter
def type_name(document: Any) -> str:
    """Return the common name of a media type."""
    known = FORMATS.get(document.media_type)
    return known.name if known else str(document.media_type)


@register.filter
def ocr(document: Any) -> dict[str, list[int]] | None:
    """Return the pages that OCR read, surely, unsurely or not at all; None without OCR.

    A document's metadata may be anybody's.
    """
    outcome = document.metadata.get(OCR)
    if not isinstance(outcome, dict):
        return None
    pages: dict[str, list[int]] = {}
    for name in ("pages", "unsure_pages", "unread_pages"):
        numbers: Any = outcome.get(name)
        is_list = isinstance(numbers, list)
        pages[name] = [each for each in numbers if isinstance(each, int)] if is_list else []
    return pages


# More page numbers than these tell no more.
MAX_PAGE_NUMBERS = 12


@register.filter
def page_list(numbers: list[int]) -> str:
    """Return ``page 3`` or ``pages 1, 2 and 9``."""
    words = [str(number) for number in numbers[:MAX_PAGE_NUMBERS]]
    if len(numbers) > MAX_PAGE_NUMBERS:
        words.append(f"{len(numbers) - MAX_PAGE_NUMBERS} more")
    *others, last = words
    return f"pages {', '.join(others)} and {last}" if others else f"page {last}"


@register.filter
def origin(document: Any) -> str:
    """Return the web address of a document, if it has one."""
    uri: str = document.source_uri
    return uri if uri.startswith(("http://", "https://")) else ""


@register.filter
def about(document: Any) -> str:
    """Return the known authors, dates and languages of a document."""
    metadata = document.metadata
    authors = metadata.get("author", "")
    names = [name for name in (authors if isinstance(authors, list) else [authors]) if name]
    by = ", ".join(map(str, names[:MAX_AUTHORS])) + " and others" * (len(names) > MAX_AUTHORS)
    written = str(metadata.get("created", ""))
    if document.user_created_at and len(written) not in PARTIAL_DATE_LENGTHS:
        written = date_format(document.user_created_at, "j M Y")
    elif len(written) not in PARTIAL_DATE_LENGTHS:
        written = ""
    language = LANG_INFO.get(str(metadata.get("language", "")), {}).get("name", "")
    return " · ".join(filter(None, [f"by {by}" if by else "", written, language]))


@register.filter
def day(date_text: str) -> str:
    """Return a day, month or year as ``4 Mar 2024``, ``Mar 2024`` or ``2024``."""
    numbers = [int(part) for part in date_text.split("-")]
    form = ("Y", "M Y", "j M Y")[len(numbers) - 1]
    return date_format(date(*[*numbers, 1, 1][:3]), form)


@register.filter
def headings(path: Any, title: str = "") -> str:
    """Return a heading path as one line, without a first heading that repeats the title."""
    steps = list(path or [])
    return " › ".join(steps[1:] if steps[:1] == [title] else steps)


@register.filter
def percent(share: float) -> int:
    return round(share * 100)


# Of the files of an upload, in the name of its job.
NAMES_SHOWN = 3
_KINDS = {
    Job.Kind.EMBED: "Embed a document",
    Job.Kind.REEMBED: "Change the embedding model",
    Job.Kind.SOURCE: "Sync {source}",
    Job.Kind.GRID: "Fill a grid",
    Job.Kind.BENCHMARK: "Test a collection",
}
_EDITS = {
    Act.TAG: "Tag {what} {tags}",
    Act.UNTAG: "Remove {tags} from {what}",
    Act.MOVE: "Move {what} to {to}",
    Act.REEMBED: "Re-embed {what}",
    Act.DELETE: "Delete {what}",
}


STATES = {
    "pending": "queued",
    "processing": "processing",
    "completed": "ready",
    "parsing": "reading",
    "running": "processing",
    "succeeded": "done",
}


_WATCH_STATES = {
    WatchedFolder.State.NEW: "Not checked yet",
    WatchedFolder.State.WATCHED: "Kept in sync",
    WatchedFolder.State.POLLED: "Checked periodically",
    WatchedFolder.State.MISSING: "Folder not found; documents kept",
}


@register.filter
def state_name(state: str) -> str:
    """Return the label of a state of a document, job or item."""
    return STATES.get(state, state).capitalize()


class Advice(NamedTuple):
    """Advice to show; ``names_formats`` also links the list of supported formats."""

    text: str
    names_formats: bool = False


# Words of a reason, and what helps then; the first that fits.
_ADVICE = (
    ("is not supported", Advice("Save it in another format.", names_formats=True)),
    ("password", Advice("Save a copy without its password, and upload that.")),
    ("OCR is off", Advice("Have its text recognized (OCR), and upload the result.")),
    (
        "OCR found no text",
        Advice("If there is some, scan it again: upright, sharp, 200 to 300 dpi."),
    ),
    ("archive is damaged", Advice("Pack its files anew, or upload them unpacked.")),
    ("damaged", Advice("Open it in the program that made it, save it again, and upload that.")),
    ("well-formed", Advice("Open it in the program that made it, save it again, and upload that.")),
    ("NUL bytes", Advice("Give it the ending of what it really is.", names_formats=True)),
    ("holds no text", Advice("There is nothing in it to search; delete it here.")),
    ("The file is empty", Advice("There is nothing in it to search; delete it here.")),
    ("pixels", Advice("Save it smaller: 300 dpi are enough.")),
    ("are allowed", Advice("Cut it into smaller files.")),
    ("reading it", Advice("Save it again, or split it into smaller files.")),
    ("embed", Advice("Retry when the model answers again.")),
)


# Separates a reason from the list of all formats, which pages link to.
_LIST = ". Supported are: "


@register.filter
def short_reason(reason: str) -> str:
    """Return why something failed, without the list of all formats."""
    first, separator, _ = reason.partition(_LIST)
    return f"{first}." if separator else reason


@register.filter
def advice(reason: str) -> Advice | None:
    """Return what to do about a failure; None where nothing is known that would help."""
    return next((each for words, each in _ADVICE if words in reason), None)


@register.filter
def job_name(job: Job) -> str:
    arguments = job.arguments
    if job.kind == Job.Kind.SYNC:
        paths = arguments.get("paths", [])
        if arguments.get("source") == "upload":
            names = [path.rsplit("/", 1)[-1] for path in paths[:NAMES_SHOWN]]
            more = len(paths) - len(names)
            return f"Upload {', '.join(names)}" + (f" and {more} more" if more else "")
        return f"Sync {', '.join(map(shown_path, paths))}"
    if job.kind == Job.Kind.EDIT:
        what = f"{job.total} document{'' if job.total == 1 else 's'}"
        tags = ", ".join(arguments["tags"])
        template = _EDITS[Act(arguments["act"])]
        return template.format(what=what, tags=tags, to=arguments["collection"])
    if job.kind == Job.Kind.CRAWL:
        return f"Import {arguments['address']}"
    template = _KINDS.get(Job.Kind(job.kind), str(job.kind))
    return template.format(source=arguments.get("source", ""))


@register.filter
def job_figures(job: Job) -> str:
    """Return how many items of a job are done; the state of one that succeeded says the others."""
    has_failed = job.failed and job.status != Job.Status.SUCCEEDED
    return f"{job.done} of {job.total}" + (f", {job.failed} failed" if has_failed else "")


@register.filter
def watch_state(folder: WatchedFolder) -> str:
    unmounted = filter_unmounted(folder.mounts)
    if unmounted and folder.state != WatchedFolder.State.MISSING:
        return f"{shown_path(str(unmounted[0]))} is not mounted; documents kept"
    return _WATCH_STATES[WatchedFolder.State(folder.state)]


@register.filter
def site_limits(site: Site) -> str:
    what = f"whole site, link depth {site.depth}, at most {site.max_pages} pages"
    hours = site.every_hours
    every = {1: "every hour", 24: "every day", 168: "every week"}.get(
        hours or 0, f"every {hours} hours"
    )
    return f"{what if site.is_whole else 'one page'}, updated {every if hours else 'on demand'}"


@register.filter
def item_place(item: JobItem) -> str:
    """Return the path of an item's file from its root on, else the item's key."""
    return shown_path(item.path) or item.key
