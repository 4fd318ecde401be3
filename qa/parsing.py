"""What of a question is meant to the letter."""

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


def find_phrases(text: str) -> tuple[str, ...]:
    """Return the quoted phrases and the identifiers of a question, each once, in order."""
    quoted = ["".join(groups).strip() for groups in _QUOTED.findall(text)]
    identifiers = [match.group() for match in _IDENTIFIER.finditer(text)]
    return tuple(dict.fromkeys(phrase for phrase in (*quoted, *identifiers) if phrase))
