"""The process that parses files: started by ``sandbox``, it forks for each file.

Its parsers are imported before it waits, so a file costs a fork and no startup. Only the forked
child sees the content of a file; it has resource limits, can open no socket and start no program,
writes one reply and exits. A request on standard input is a line of JSON and the file's bytes; a
reply on standard output is its length, and lines of JSON: an object, and where that is a document,
its blocks, some hundreds a line. The parent decodes line by line, so that its other threads can
run.

Django is never imported here, and the environment is empty: a compromised parser finds no
password.
"""

import base64
import contextlib
import importlib
import json
import math
import os
import resource
import select
import signal
import sys
import time
import traceback
from itertools import starmap
from types import TracebackType
from typing import Any

from corpus.errors import PkbError, UnreadableFile
from corpus.loaders import link_parser, registry
from corpus.loaders.archives import unpacked_bytes
from corpus.loaders.blocks import Scan, ScanLoader, ScannedLine
from corpus.loaders.formats import image_loader
from corpus.loaders.formats.pdf import rendering
from corpus.loaders.limits import LoaderLimits
from corpus.loaders.read import read
from corpus.loaders.syscall_filter import forbid_sockets_and_programs
from corpus.loaders.unpack import list_members, read_members

LENGTH_BYTES = 8
DOCUMENT_FIELDS = ("title", "metadata", "tags", "chapter", "section", "scans")
BLOCKS_PER_LINE = 500
# Parsers open a few files: fonts, libraries. They may write none (RLIMIT_FSIZE is 0).
_MAX_OPEN_FILES = 64
# Documents nest deeper than programs: unclosed tags in old pages nest by hundreds.
RECURSION_LIMIT = 5_000
_CHUNK_BYTES = 2**20
# Imported at the first scan: most workers never need its 130 MiB.
_OCR_ENGINE = "corpus.loaders.ocr.engine"
# Bytes of a reply beside the text: keys, escapes, metadata.
_REPLY_OVERHEAD = 64 * 2**20


def main() -> None:
    """Serve requests until standard input closes, when the parent exits."""
    registry.register(json.loads(sys.argv[2]))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed must not get between the replies
    requests = sys.stdin.buffer
    sys.setrecursionlimit(RECURSION_LIMIT)
    while line := requests.readline():
        request = json.loads(line)
        content = requests.read(request["content_bytes"])
        # A loader's modules are imported once here, so that children inherit them.
        if request.get("act") == "read_scan":
            with contextlib.suppress(ImportError):
                importlib.import_module(_OCR_ENGINE).load()
        for name in getattr(registry.loader_for(request["media_type"]), "PRELOAD", ()):
            with contextlib.suppress(ImportError):  # the child meets it again, and reports it
                importlib.import_module(name)
        reply = _parse_in_child(request, content)
        replies.write(len(reply).to_bytes(LENGTH_BYTES, "big") + reply)
        replies.flush()


def _line(reply: object) -> bytes:
    return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _parse_in_child(request: dict[str, Any], content: bytes) -> bytes:
    limits = LoaderLimits(**request["limits"])
    reading_end, writing_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading_end)
        _run_child(request, content, limits, writing_end)
    os.close(writing_end)
    reply, finished = _collect(reading_end, limits)
    os.close(reading_end)
    if not finished:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    excess = _needs_more_than(limits)
    if not finished:
        return _line({"failure": f"reading it takes more than {limits.wall_s:g} s"})
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        failure = f"the parser was ended by {signal.Signals(number).name}, as where {excess}"
        if number == signal.SIGXCPU:
            failure = "reading it takes more processor time than its size justifies"
        return _line({"failure": failure})
    return reply or _line({"failure": f"the parser gave up, as where {excess}"})


def _needs_more_than(limits: LoaderLimits) -> str:
    return f"reading it needs more than {limits.memory_bytes / 2**20:.0f} MiB"


def _collect(pipe: int, limits: LoaderLimits) -> tuple[bytes, bool]:
    """Read a child's reply to its end; return False after a timeout or an overlong reply."""
    deadline = time.monotonic() + limits.wall_s
    # UTF-8 has at max_bytes four bytes per character.
    max_bytes = limits.max_chars * 4 + _REPLY_OVERHEAD
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    reply = bytearray()
    while len(reply) <= max_bytes:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not poll.poll(left_s * 1000):
            return b"", False
        piece = os.read(pipe, _CHUNK_BYTES)
        if not piece:
            return bytes(reply), True
        reply += piece
    return b"", False


def _run_child(
    request: dict[str, Any], content: bytes, limits: LoaderLimits, writing_end: int
) -> None:
    """Parse, reply, and exit; never returns."""
    pipe = os.fdopen(writing_end, "wb")  # the except hook needs it open

    def report(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Send an unexpected error to the parent to log."""
        lines = traceback.format_exception(kind, error, trace)
        crash = {"failure": f"{kind.__name__} in the parser", "traceback": "".join(lines)}
        pipe.write(_line(crash))
        pipe.flush()
        os._exit(1)

    sys.excepthook = report
    # The child gets its own group, so that processes of the parser are killed with it.
    os.setpgid(0, 0)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)  # parsers print what they make of a file
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_OPEN_FILES, _MAX_OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    forbid_sockets_and_programs()
    try:
        # The time is limited by file size, so that a small file that loops ends early.
        seconds = limits.base_cpu_s + limits.cpu_s_per_mib * len(content) / 2**20
        if registry.FORMATS[request["media_type"]].is_zip:
            seconds += limits.cpu_s_per_unpacked_mib * unpacked_bytes(content) / 2**20
        whole = math.ceil(min(seconds, limits.wall_s))
        # The soft limit sends a signal that names the reason; the hard limit kills.
        resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 1))
        result, *further = _result_lines(request, content, limits)
        reply = b"".join(map(_line, ({"result": result}, *further)))
    except PkbError as error:
        reply = _line({"error": error.code, "detail": str(error)})
    except MemoryError:
        reply = _line({"failure": _needs_more_than(limits)})
    pipe.write(reply)
    pipe.flush()
    os._exit(0)


def _result_lines(request: dict[str, Any], content: bytes, limits: LoaderLimits) -> list[Any]:
    """Run the action of a request; return the values of each line of its result."""
    act, arguments = request["act"], request["arguments"]
    pages = rendering if request["media_type"] == registry.PDF else image_loader
    if act == "read":
        scans = None
        if "scans" in arguments:
            scans = {
                number: Scan(width, height, tuple(starmap(ScannedLine, lines)), confidence)
                for number, (width, height, lines, confidence) in arguments["scans"]
            }
        document = read(
            content,
            filename=arguments["filename"],
            media_type=request["media_type"],
            limits=limits,
            scans=scans,
        )
        # dataclasses.asdict takes longer over many blocks than the parser.
        fields = {name: getattr(document, name) for name in DOCUMENT_FIELDS}
        blocks = [
            (b.text, b.heading_level, b.heading_text, b.page, b.labels, b.ocr_boxes, b.page_starts)
            for b in document.blocks
        ]
        starts = range(0, len(blocks), BLOCKS_PER_LINE)
        return [fields, *(blocks[start : start + BLOCKS_PER_LINE] for start in starts)]
    if act == "read_scan":
        loader = registry.loader_for(request["media_type"])
        if not isinstance(loader, ScanLoader):
            raise UnreadableFile("Files of this type have no scanned pages.")
        return [importlib.import_module(_OCR_ENGINE).read(loader.picture_of(content, **arguments))]
    if act == "draw_page":
        return [base64.b64encode(pages.draw(content, **arguments)).decode()]
    if act == "find_on_page":
        return [pages.find(content, **arguments)._asdict()]
    if act == "list_archive":
        return [list_members(content, limits=limits)]
    if act == "read_archive":
        members = read_members(content, set(arguments["names"]), limits=limits)
        return [
            "",
            *(
                (name, None if part is None else base64.b64encode(part).decode(), reason)
                for name, part, reason in members
            ),
        ]
    if act == "find_links":
        return [link_parser.read_links(content)]
    return [link_parser.read_sitemap(content)]
