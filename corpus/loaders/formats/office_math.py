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

# Elements whose parts stand in a pattern.
_TEMPLATES = {
    "f": (r"\frac{%s}{%s}", "num", "den"),
    "limLow": ("%s_{%s}", "e", "lim"),
    "limUpp": ("%s^{%s}", "e", "lim"),
}


def to_tex(element: "Element") -> str:
    """Return an ``m:oMath`` element, or a part of one, as TeX."""
    name = element.tag.removeprefix(_M)
    if name in _TEMPLATES:
        template, *parts = _TEMPLATES[name]
        tex = template % tuple(_part(element, part) for part in parts)
    elif name == "rad":
        degree = _part(element, "deg")
        tex = rf"\sqrt{f'[{degree}]' if degree else ''}{{{_part(element, 'e')}}}"
    elif name in ("sSub", "sSup", "sSubSup", "sPre"):
        tex = _part(element, "e") + _scripts(element)
    elif name == "nary":
        sign = _setting(element, "naryPr", "chr", "∫")
        tex = f"{_BIG.get(sign, sign)}{_scripts(element)} {_part(element, 'e')}"
    elif name == "d":
        opening = _setting(element, "dPr", "begChr", "(")
        closing = _setting(element, "dPr", "endChr", ")")
        separator = _setting(element, "dPr", "sepChr", "|")
        tex = opening + separator.join(_children(element)) + closing
    elif name == "func":
        function, argument = _part(element, "fName"), _part(element, "e")
        tex = f"\\{function}{{{argument}}}" if function.isalpha() else f"{function} {argument}"
    elif name == "m":
        rows = r" \\ ".join(" & ".join(_children(row)) for row in element.findall(_M + "mr"))
        tex = rf"\begin{{matrix}}{rows}\end{{matrix}}"
    elif name == "eqArr":
        tex = r" \\ ".join(_children(element))
    elif name == "t":
        tex = element.text or ""
    elif name.endswith("Pr"):  # properties hold settings, not symbols
        tex = ""
    else:
        tex = "".join(to_tex(child) for child in element)
    return tex


def _part(element: "Element", name: str) -> str:
    child = element.find(_M + name)
    return "" if child is None else to_tex(child).strip()


def _children(element: "Element") -> list[str]:
    return [to_tex(child).strip() for child in element.findall(_M + "e")]


def _scripts(element: "Element") -> str:
    scripts = (("_", _part(element, "sub")), ("^", _part(element, "sup")))
    return "".join(f"{mark}{{{script}}}" for mark, script in scripts if script)


def _setting(element: "Element", properties: str, name: str, default: str) -> str:
    setting = element.find(f"{_M}{properties}/{_M}{name}")
    return default if setting is None else setting.get(_M + "val", "")
