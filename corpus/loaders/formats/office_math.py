"""Convert Word's equations (OMML) to TeX."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_BIG = {
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "∬": r"\iint",
    "\N{N-ARY UNION}": r"\bigcup",
    "\N{N-ARY INTERSECTION}": r"\bigcap",
}


def to_tex(element: "Element") -> str:
    """Return an ``m:oMath`` element, or a part of one, as TeX."""
    name = element.tag.removeprefix(_M)
    build = _BUILDERS.get(name)
    if build is not None:
        return build(element)
    if name == "t":
        return element.text or ""
    if name.endswith("Pr"):  # properties hold settings, not symbols
        return ""
    return "".join(to_tex(child) for child in element)


def _part(element: "Element", name: str) -> str:
    child = element.find(_M + name)
    return "" if child is None else to_tex(child).strip()


def _setting(element: "Element", properties: str, name: str, default: str) -> str:
    found = element.find(f"{_M}{properties}/{_M}{name}")
    return default if found is None else found.get(_M + "val", "")


def _fraction(element: "Element") -> str:
    return rf"\frac{{{_part(element, 'num')}}}{{{_part(element, 'den')}}}"


def _root(element: "Element") -> str:
    degree = _part(element, "deg")
    return rf"\sqrt{f'[{degree}]' if degree else ''}{{{_part(element, 'e')}}}"


def _script(element: "Element") -> str:
    text = _part(element, "e")
    for name, mark in (("sub", "_"), ("sup", "^")):
        if script := _part(element, name):
            text += f"{mark}{{{script}}}"
    return text


def _operator(element: "Element") -> str:
    sign = _setting(element, "naryPr", "chr", "∫")
    text = _BIG.get(sign, sign)
    for name, mark in (("sub", "_"), ("sup", "^")):
        if script := _part(element, name):
            text += f"{mark}{{{script}}}"
    return f"{text} {_part(element, 'e')}"


def _brackets(element: "Element") -> str:
    opening = _setting(element, "dPr", "begChr", "(")
    closing = _setting(element, "dPr", "endChr", ")")
    separator = _setting(element, "dPr", "sepChr", "|")
    inside = separator.join(to_tex(part).strip() for part in element.findall(_M + "e"))
    return f"{opening}{inside}{closing}"


def _function(element: "Element") -> str:
    name = _part(element, "fName")
    return (
        f"\\{name}{{{_part(element, 'e')}}}" if name.isalpha() else f"{name} {_part(element, 'e')}"
    )


def _limit(element: "Element") -> str:
    mark = "_" if element.tag == _M + "limLow" else "^"
    return f"{_part(element, 'e')}{mark}{{{_part(element, 'lim')}}}"


def _matrix(element: "Element") -> str:
    rows = r" \\ ".join(
        " & ".join(to_tex(cell).strip() for cell in row.findall(_M + "e"))
        for row in element.findall(_M + "mr")
    )
    return rf"\begin{{matrix}}{rows}\end{{matrix}}"


def _lines(element: "Element") -> str:
    return r" \\ ".join(to_tex(line).strip() for line in element.findall(_M + "e"))


_BUILDERS = {
    "f": _fraction,
    "rad": _root,
    "sSub": _script,
    "sSup": _script,
    "sSubSup": _script,
    "sPre": _script,
    "nary": _operator,
    "d": _brackets,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
    "m": _matrix,
    "eqArr": _lines,
}
