"""Parse a site's robots.txt, as RFC 9309 defines it. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from corpus.crawl.scope import escape

# The user agent that robots.txt names.
AGENT = "pkb"
# RFC 9309: at least this much must be read.
MAX_BYTES = 500 * 1024
# Maximum rules for our agent; each is compared with each URL.
MAX_RULES = 5_000
_LINE = re.compile(r"^\s*+([A-Za-z-]++)\s*+:([^#]*)")
_SECONDS = re.compile(r"\d{1,6}(?:\.\d{1,3})?")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of robots.txt for our agent.

    Attributes:
        allowed: Patterns of allowed paths.
        disallowed: Patterns of disallowed paths.
        delay_s: Requested delay between requests.
        sitemaps: URLs, as written.
    """

    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    delay_s: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allow(self, address: str) -> bool:
        """Return whether a normalized URL may be fetched: the longest pattern decides."""
        parts = urlsplit(address)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        return _longest(self.allowed, path) >= _longest(self.disallowed, path)


@lru_cache(maxsize=8)
def read_robots(text: str) -> Rules:
    """Parse a robots.txt; rules for all agents apply if none name ours."""
    matches = map(_LINE.match, text.removeprefix("\ufeff").splitlines())
    lines = [(match[1].lower(), match[2].strip()) for match in matches if match]
    sitemaps = tuple(value for name, value in lines if name == "sitemap")
    agents = {value.lower() for name, value in lines if name == "user-agent"}
    agent = AGENT if AGENT in agents else "*"
    # The lines of all groups that name the agent, alone or with others.
    ours: list[tuple[str, str]] = []
    is_ours = is_head = False
    for name, value in lines:
        if name == "user-agent":
            is_ours = (is_head and is_ours) or value.lower() == agent
            is_head = True
        elif name in {"allow", "disallow", "crawl-delay"}:
            is_head = False
            if is_ours:
                ours.append((name, value))
    delays = [value for name, value in ours if name == "crawl-delay" and _SECONDS.fullmatch(value)]
    # An empty value disallows nothing.
    rules = [(name, escape(value, more="?")) for name, value in ours if value][:MAX_RULES]
    return Rules(
        allowed=tuple(value for name, value in rules if name == "allow"),
        disallowed=tuple(value for name, value in rules if name == "disallow"),
        delay_s=max(map(float, delays), default=0.0),
        sitemaps=sitemaps,
    )


def _longest(patterns: Iterable[str], path: str) -> int:
    return max((len(pattern) for pattern in patterns if _fits(pattern, path)), default=0)


def _fits(pattern: str, path: str) -> bool:
    """Return whether a path matches a pattern: ``*`` is anything, a final ``$`` the end.

    Linear in both: each part is searched after the previous one.
    """
    is_whole = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    last = parts.pop() if parts and is_whole else ""
    if not path.startswith(first):
        return False
    place = len(first)
    for part in parts:
        start = path.find(part, place)
        if start < 0:
            return False
        place = start + len(part)
    if "*" in pattern and is_whole:
        return path.endswith(last) and len(path) - len(last) >= place
    return not is_whole or place == len(path)
