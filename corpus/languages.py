"""Which languages' words are stemmed, and how text without spaces is made searchable."""

import re

ENGLISH = "english"
# Of the configurations that every PostgreSQL has; "simple" stems nothing.
LANGUAGES = (
    "simple", "arabic", "danish", "dutch", ENGLISH, "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "italian", "lithuanian", "norwegian", "portuguese", "romanian",
    "russian", "serbian", "spanish", "swedish", "tamil", "turkish",
)  # fmt: skip

# Han, kana, bopomofo: a word has one to three characters.
_EAST_ASIAN = (
    r"\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Thai, Lao, Myanmar, Khmer: letters with vowel and tone signs, a word is longer.
_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_RUN = re.compile(f"([{_EAST_ASIAN}]+)|([{_SOUTH_EAST_ASIAN}]+)")


def character_ngrams(text: str) -> str:
    """Return the overlapping pairs of East Asian, triples of South-East Asian characters.

    Postgres takes a run of such text for one word, which a question never repeats whole.

    Returns:
        The n-grams, separated by spaces; empty where the text has none of these scripts.
    """
    return " ".join(
        run[at : at + size]
        for east, south_east in _RUN.findall(text)
        for run, size in ((east, 2), (south_east, 3))
        for at in range(max(1, len(run) - size + 1))
        if run
    )
