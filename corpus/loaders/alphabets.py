"""Tell the Latin code pages apart by the letters that a language uses.

Windows-1252, Windows-1250, ISO 8859-2 and their like decode the same bytes to other letters,
and a statistical guess often takes a wrong one on a short text. A text whose letters beyond
ASCII all belong to one language's alphabet is far more likely right than one that mixes them.
"""

_ALPHABETS = {
    "cp1252": (
        "àâæçéèêëîïôœùûüÿ",  # French
        "äöüß",  # German
        "áéíñóúü¿¡ªºçàèòï·",  # Spanish, Catalan
        "àèéìîíòóù",  # Italian
        "ãõáâàçéêíóôúüªº",  # Portuguese
        "åäöéàüšž",  # Finnish, Swedish
        "æøåéèêóòâôüö",  # Danish, Norwegian
        "áðéíóúýþæö",  # Icelandic
        "ëïéèöüáíóú",  # Dutch
    ),
    "cp1250": (
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "ăâîşţ",  # Romanian
        "čćđšž",  # Croatian, Slovene
    ),
    "cp1254": ("çğıiöşüâîû",),  # Turkish
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž"),  # Lithuanian, Latvian, Estonian
}
_ALPHABETS["iso8859_2"] = _ALPHABETS["cp1250"]
_MARKS = frozenset("„“”‘’‚«»‹›–—…•·€£©®™°§±×÷²³½¼¾´¨\u00a0\u00ad\ufeff")
_LAST_ASCII = "\x7f"
_SAMPLE_BYTES = 64 * 1024
_MIN_ASCII_SHARE = 0.6
_MAX_FOREIGN_SHARE = 0.03


def latin_encoding(content: bytes) -> str:
    """The Latin code page of a text in a European language, or "" where none stands out."""
    sample = content[:_SAMPLE_BYTES]
    ascii_letters = sum(sample.count(bytes((code,))) for code in range(0x41, 0x7B))
    beyond = sum(1 for code in sample if code > ord(_LAST_ASCII))
    if ascii_letters < _MIN_ASCII_SHARE * (ascii_letters + beyond):
        return ""
    misfits = {name: _misfit(sample, name) for name in _ALPHABETS}
    best = min(misfits, key=lambda name: misfits[name])
    return best if misfits[best] <= _MAX_FOREIGN_SHARE * beyond else ""


def _misfit(sample: bytes, encoding: str) -> float:
    """How many characters beyond ASCII are foreign to the best-fitting alphabet."""
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return float("inf")
    letters = [letter for letter in text.lower() if letter > _LAST_ASCII and letter not in _MARKS]
    return min(sum(letter not in known for letter in letters) for known in _ALPHABETS[encoding])
