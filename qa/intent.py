"""Classify a question by its words alone, and find its parts, phrases and topic. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from corpus.amounts import COMPARISONS, parse_range
from qa.grounding.support.words import read_words
from qa.types import Exchange


class IntentKind(StrEnum):
    """The ways to answer a question."""

    QUESTION = "question"  # from passages
    PARTS = "parts"  # each of its questions separately
    COMPARISON = "comparison"  # from a passage about all sides, else each side separately
    SUMMARY = "summary"  # of a document: its outline
    OVERVIEW = "overview"  # of all documents: their beginnings
    MENTIONS = "mentions"  # the documents that mention something
    COUNT = "count"  # how many documents mention a phrase, exactly
    AMOUNTS = "amounts"  # which documents state an amount, exactly
    GREETING = "greeting"  # nothing is asked
    SHORTER = "shorter"  # the last answer, shortened
    REWORDING = "rewording"  # the last answer in other words or another form


@dataclass(frozen=True, slots=True)
class Intent:
    """The kind of answer that a question asks for.

    Attributes:
        text: What to search for.
        names: The things compared, or the name of the document to summarize.
        parts: The questions to answer one by one, if there are several.
        wants_list: It asks for several things, which a list or table may contain.
        group_by: What mentions are counted by: ``month``, ``tag``, ...; or empty.
        amount: The comparison with an amount, such as ``over 500 EUR``.
    """

    kind: IntentKind
    text: str
    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    wants_list: bool = False
    group_by: str = ""
    amount: str = ""


def classify(question: str) -> Intent:
    """Return the intent of a self-contained question."""
    if is_greeting(question):
        return Intent(IntentKind.GREETING, question)
    if count := parse_count_query(question):
        return count
    if topic := parse_document_query(question):
        return Intent(IntentKind.MENTIONS, topic)
    if asks_for_overview(question):
        return Intent(IntentKind.OVERVIEW, question)
    if name := find_document_name(question):
        return Intent(IntentKind.SUMMARY, question, names=(name,))
    wants_list = asks_for_list(question)
    if parts := split_question(question):
        return Intent(IntentKind.PARTS, question, parts=parts, wants_list=wants_list)
    if sides := split_comparison(question):
        return Intent(
            IntentKind.COMPARISON,
            question,
            names=tuple(side.name for side in sides),
            parts=tuple(side.question for side in sides),
            wants_list=wants_list,
        )
    return Intent(IntentKind.QUESTION, question, wants_list=wants_list)


_QUOTED = re.compile(
    r'"([^"]{2,200})"|\u201c([^\u201d]{2,200})\u201d|\u00ab([^\u00bb]{2,200})\u00bb'
)
# Names that no dictionary has: error codes, versions, paths, variables.
_IDENTIFIER = re.compile(
    r"""(?<![\w./:-])(?:
        (?=[\w./:-]*[A-Za-z])(?=[\w./:-]*\d)\w+(?:[-./:]\w+)+  # CVE-2024-1234, v2.13.0
        | (?=\w*[A-Za-z])(?=\w*[\d_])\w{2,}                     # ERR_404, snake_case, sha256
        | [a-z]+(?:[A-Z][a-z0-9]*)+                             # camelCase
        | \d+(?:\.\d+){2,}                                      # 10.0.0.1
    )(?![\w/])""",
    re.VERBOSE,
)

# Each is searched in every candidate, and adds an expression that Django nests.
MAX_PHRASES = 16

# A sentence of a question may begin in lower case.
_SENTENCE_END = re.compile(r"(?<=[.?!;])\s+|(?<=[\u3002\uff1f\uff01\uff1b])")
# Most sentences of a question searched separately, and fewest words of one.
MAX_SENTENCES = 8
WORDS_IN_A_SENTENCE = 3


def find_phrases(text: str) -> tuple[str, ...]:
    """Return the quoted phrases and identifiers of a question, each once, in order.

    At most ``MAX_PHRASES``.
    """
    quoted = ["".join(groups).strip() for groups in _QUOTED.findall(text)]
    identifiers = [match.group() for match in _IDENTIFIER.finditer(text)]
    return tuple(dict.fromkeys(filter(None, (*quoted, *identifiers))))[:MAX_PHRASES]


def find_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a question with several, at most ``MAX_SENTENCES``; else none."""
    parts = [part.strip() for part in _SENTENCE_END.split(text)]
    sentences = tuple(part for part in parts if len(part.split()) >= WORDS_IN_A_SENTENCE)
    return sentences[:MAX_SENTENCES] if len(sentences) > 1 else ()


_POLITE = (
    r"hi|hello|hey|howdy|greetings|good\s+(?:morning|afternoon|evening|day)|thanks|thank\s+you|thx"
    r"|cheers|ok|okay|bye|goodbye|good\s+night|how\s+are\s+you|nice\s+to\s+meet\s+you"
    r"|help(?:\s+me)?|who\s+are\s+you|what\s+are\s+you|(?:what|how)\s+can\s+you\s+(?:do|help)"
    r"(?:\s+(?:me|for\s+me))?|what\s+do\s+you\s+do|what\s+can\s+I\s+(?:do|ask)(?:\s+(?:here|you))?"
    # German, French, Spanish and Italian.
    r"|hallo|guten\s+(?:tag|morgen|abend)|gute\s+nacht|moin|servus|danke|tsch\u00fcss|wer\s+bist\s+du"
    r"|was\s+kannst\s+du|hilfe|bonjour|bonsoir|salut|coucou|merci|au\s+revoir|qui\s+es[-\s]tu"
    r"|que\s+peux[-\s]tu\s+faire|\u00a1?hola|\u00a1?buen[oa]s\s+(?:d\u00edas|dias|tardes|noches)"
    r"|(?:muchas\s+)?gracias|adi\u00f3s|\u00bf?qui\u00e9n\s+eres|\u00bf?qu\u00e9\s+puedes\s+hacer"
    r"|ciao|salve|buon\s?giorno|buona\s?sera|(?:mille\s+)?grazie|arrivederci|chi\s+sei"
    r"|cosa\s+puoi\s+fare"
)
_GREETING = re.compile(
    rf"(?:(?:{_POLITE})(?:\s+(?:there|all|everyone|again|so\s+much|very\s+much|pkb|zusammen|sch\u00f6n"
    r"|sehr|beaucoup|mille))?[\s,.!?]*)+",
    re.IGNORECASE,
)


def is_greeting(text: str) -> bool:
    """Return whether a text only greets, thanks or asks for help."""
    return _GREETING.fullmatch(text.strip()) is not None


_ANSWER = r"(?:it|that|this|them|these|(?:the|your)(?:\s+last)?\s+(?:answer|list|text|reply))"
_AS_REQUEST = (
    r"\A(?:(?:ok|okay|thanks|and|now|please),?\s+)*+"
    r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
)
_SHORTER = re.compile(
    rf"""{_AS_REQUEST}(?:
    shorten(?:\s+{_ANSWER})?
    | (?:make|keep|say|put|write)\s+{_ANSWER}\s+(?:a\s+(?:bit|little)\s+|much\s+)?
      (?:short(?:er)?|brief(?:er|ly)?|(?:more\s+)?concise(?:ly)?)
    | (?:a\s+(?:bit|little)\s+|much\s+)?(?:shorter|briefer|more\s+briefly)
    | (?:(?:say|put|give)\s+(?:me\s+)?{_ANSWER}\s+)?in\s+(?:short|brief|a\s+nutshell|one\s+sentence
      |(?:a\s+)?few(?:er)?\s+words)
    | (?:(?:give|show|tell)\s+me\s+)?(?:the|a)\s+short(?:er)?\s+(?:version|answer)
    )(?:,?\s+please)?""",
    re.IGNORECASE | re.VERBOSE,
)
_REWORDING = re.compile(
    rf"""{_AS_REQUEST}(?:
    (?:translate|rewrite|rephrase|reword|paraphrase|simplify|reformat)(?:\s+{_ANSWER})?
      (?:\s+(?:in|to|into|as|for)\s+.{{1,60}})?
    | (?:make|turn|put|format|show|give|say|write|explain|tell)\s+(?:me\s+)?{_ANSWER}\s+
      (?:(?:in|into|as|to)\s+)?(?:
        (?:an?\s+)?(?:table|list|chart|diagram|e-?mail|(?:bullet(?:ed)?\s+)?(?:points?|list)|bullets)
        | (?:(?:in|with)\s+)?(?:simpler|simple|plain|plainer|easier|easy|other|different|your\s+own)
          (?:\s+(?:words?|terms|english|language))?
        | (?:english|german|french|spanish|italian|dutch|portuguese|polish|russian|turkish|chinese
          |japanese|arabic)
        | (?:more\s+)?(?:formal(?:ly)?|friendly|detailed|simply) | longer | nicer )
    | as\s+(?:an?\s+)?(?:table|(?:bullet(?:ed)?\s+)?list|bullet\s+points)
    | (?:in|into)\s+(?:english|german|french|spanish|italian|simpler\s+words|plain\s+english)
    )(?:,?\s+please)?""",
    re.IGNORECASE | re.VERBOSE,
)


def classify_request(text: str) -> IntentKind | None:
    """Return what is to be done with the last answer; None for what may be a question."""
    request = text.strip(" \t\n.,?!")
    if _SHORTER.fullmatch(request):
        return IntentKind.SHORTER
    return IntentKind.REWORDING if _REWORDING.fullmatch(request) else None


_SUMMARY = re.compile(
    r"""\A\s*+(?:please\s+|(?:can|could|would)\s+you\s+(?:please\s+)?)?
    (?:summari[sz]e | sum\s+up | outline
       | (?:(?:give|show|write)\s+(?:me\s+|us\s+)?)?(?:an?\s+|the\s+)?
         (?:(?:short|brief|quick)\s+)?(?:summary|overview|outline|tl;?dr)\s+of
       | what(?:\s+(?:is|are|do|does)|['\u2019]s)(?=.+\s(?:about|cover)\W*$))
    \s+(?P<name>\S[^\n]*+)\s*\Z""",
    re.IGNORECASE | re.VERBOSE,
)
_NAMES_NONE = re.compile(
    r"""(?:please\s+|(?:can|could|would)\s+you\s+(?:please\s+)?)?
    (?:summari[sz]e | sum\s+up
       | (?:(?:give|show|write)\s+(?:me\s+|us\s+)?)?(?:an?\s+|the\s+)?(?:(?:short|brief|quick)\s+)?
         (?:summary|overview|outline|tl;?dr)
       | (?:what|which)\s+(?:documents|files)\s+(?:are\s+there|do\s+you\s+have)
       | (?:list|show)\s+(?:me\s+)?(?:all\s+)?(?:the\s+|my\s+)?(?:documents|files)
       | what(?:\s+is|['\u2019]s)\s+in\s+(?:here
         |(?:the|this|these|my|your)\s+(?:documents|files|collection|library))
    )(?:,?\s+please)?""",
    re.IGNORECASE | re.VERBOSE,
)
# Words that do not identify a document.
_NAMELESS = frozenset(
    "a all an and collection content contents doc document documents everything file files guide"
    " here in it library manual my of on our page paper please that the these they this those to"
    " whole you your".split()
)


def find_document_name(text: str) -> str:
    """Return the name of what to summarize ("Summarize the fire manual"), or ""."""
    match = _SUMMARY.match(text)
    name = match["name"].rstrip(" \t.?!") if match else ""
    words, _, last = name.rpartition(" ")
    return words.rstrip() if words and last.lower() in {"about", "cover"} else name


def asks_for_overview(text: str) -> bool:
    """Return whether a summary is asked for without naming a document."""
    name = find_document_name(text)
    if name:
        return not distinctive_words(name)
    return _NAMES_NONE.fullmatch(text.strip(" \t\n.,?!")) is not None


def distinctive_words(name: str) -> frozenset[str]:
    """Return the words of a document's name that identify it, in lower case."""
    return frozenset(re.findall(r"[^\W_]+", name.lower())) - _NAMELESS


# Each part is answered separately; more parts are a list of questions, not one.
MAX_PARTS = 3
_VERB = (
    r"(?:is|are|was|were|do|does|did|can|could|should|shall|will|would|has|have|had|must|may|might)"
)
_SUBJECT = r"(?:i|we|you|it|they|he|she|there|this|that|these|those|my|our|your)"
_ASKS = rf"""(?:
    (?:what|which|whose|who|whom|when|where|why|how)(?:\s+(?!and\b|or\b)[\w'-]+){{0,4}}?\s+{_VERB}\b
    | (?:what|who)(?:'s|\u2019s)\b
    | who\s+\w | which\s+ones?\b
    | how\s+to\b
    | {_VERB}(?:n't)?\s+{_SUBJECT}\b
    # "and does the rest" asks nothing.
    | (?!do|ha){_VERB}(?:n't)?\s+(?:the|an?)\b
)"""
_BEGINS_QUESTION = re.compile(
    rf"\A\s*+(?:what|which|whose|who|whom|when|where|why|how|{_VERB})\b", re.IGNORECASE
)
_NEXT_QUESTION = re.compile(
    rf"(?<!\s)(?:\s*+,)?\s++and\s++(?:also\s+|then\s+)?(?={_ASKS})", re.IGNORECASE | re.VERBOSE
)
# The noun that a question asks for, and a pronoun at the very end.
_ASKED_FOR = re.compile(
    rf"\A\s*+(?:which|what)\s+(?P<noun>[\w'-]+(?:\s+[\w'-]+)?)\s+{_VERB}\b", re.IGNORECASE
)
_LAST_PRONOUN = re.compile(r"\b(?:it|them)(?=\W*\Z)", re.IGNORECASE)


def split_question(text: str) -> tuple[str, ...]:
    """Return the self-contained questions that a question consists of; none if it is one.

    Text before the first question is repeated before each. Pronouns are replaced from the previous
    part. If the first part is a follow-up itself, only the thing it asks for is inserted: "Which
    port does it use and how do I change it?", but "Can I try it and is it free?".
    """
    questions = [
        part for part in _SENTENCE_END.split(text) if part.rstrip().endswith(("?", "\uff1f"))
    ]
    if not questions or not text.rstrip().endswith(questions[-1].rstrip()):
        return ()
    context = text[: text.index(questions[0])].strip()
    parts = [part for sentence in questions for part in _split_sentence(sentence)]
    if not 1 < len(parts) <= MAX_PARTS:
        return ()
    if is_follow_up(parts[0]):
        match = _ASKED_FOR.match(parts[0])
        noun = match["noun"] if match else ""
        # "What does it do": words that mean nothing by themselves are no noun.
        is_noun = bool(noun) and len(_content_words(noun)) == len(noun.split())
        the_noun = f"the {noun}" if is_noun else r"\g<0>"
        return (parts[0], *(_LAST_PRONOUN.sub(the_noun, part) for part in parts[1:]))
    standing: list[Exchange] = []
    for part in parts:
        completed = complete_follow_up(part, standing)
        standing.append(Exchange(part, completed, ""))
    return tuple(f"{context} {each.searched}".strip() for each in standing)


def _split_sentence(sentence: str) -> list[str]:
    """Return the questions that "and" joins in a sentence, each with its mark."""
    if not _BEGINS_QUESTION.match(sentence):
        return [sentence.strip()]
    parts: list[str] = []
    begin = 0
    for match in _NEXT_QUESTION.finditer(sentence):
        if len(sentence[begin : match.start()].split()) >= WORDS_IN_A_SENTENCE:
            parts.append(sentence[begin : match.start()].strip())
            begin = match.end()
    parts.append(sentence[begin:].strip())
    return [part.rstrip("?\uff1f. ") + "?" for part in parts]


_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|[2-9]|1[0-2])"
_AUXILIARY = rf"(?:{_VERB}|doesn|don|isn|aren)"
# A noun that looks like a plural.
_PLURAL = r"""(?:(?!(?:always|does|goes|has|its|means|news|perhaps|series|this|was|yes)\b)
    [\w-]+(?<!u)(?<!s)(?<!i)s | criteria | people | children | men | women | phenomena)\b"""
_ASKS_FOR_SEVERAL = re.compile(
    rf"""\b(?:
    (?:what|which|who|name|list|give|tell)\b(?:\s+(?:are|were|me|us|out))*+
        (?:\s+(?:the|all|some))*+ \s+(?:\w+\s+)?? {_COUNT}\s+\w{{3}}
    | (?:what|who|which)\s+(?:are|were)\s+(?:the|all|some|its|their|his|her|our|your)\s+
        (?:(?!of\b|for\b|in\b|to\b|that\b)[\w'-]+\s+){{0,3}}?{_PLURAL}
    | what\s+are\s+(?:[\w'-]+\s+){{0,2}}?{_PLURAL}\s+(?:of|for|in|to|that|when)\b
    | which\s+{_PLURAL}
    | (?:what|which)\s+(?:[\w'-]+\s+){{0,2}}?{_PLURAL}\s+(?:of|{_AUXILIARY})\b
    | what\s+{_PLURAL}\s+(?!(?:at|by|for|from|if|in|on|to|when|with)\b)\w+\s+
        (?:an?|the|this|these|those)\b
    )
    | \A\s*+(?:please\s+)?(?:list|enumerate)\s+\w
    | \A\s*+(?:please\s+)?(?:name|give(?:\s+me)?|tell\s+me)\s+(?:the|all|some)\s+
        (?:(?!of\b|who\b|that\b)[\w'-]+\s+){{0,2}}?{_PLURAL}""",
    re.IGNORECASE | re.VERBOSE,
)


def asks_for_list(text: str) -> bool:
    """Return whether a question asks for several things, which a list or table may contain.

    "What are the steps?", "Which three kinds are there?", "Name the stages."; not "What are
    embeddings?", which asks what one thing is.
    """
    return _ASKS_FOR_SEVERAL.search(text) is not None


_ASKS_HOW = re.compile(
    r"\bhow\s+(?:(?:do|can|could|should|must|shall|would)\s+(?:I|we|you|one|people)\b|to\b)"
    r"|\bwhat\s+(?:do|should|must)\s+(?:I|we|you)\s+do\b",
    re.IGNORECASE,
)


def asks_how(text: str) -> bool:
    """Return whether a question asks how to do something, which steps may answer."""
    return _ASKS_HOW.search(text) is not None


_FILLER = re.compile(r"^\s*(?:(?:so|ok|okay|well|yes|no|thanks)\b[\s,.!]*)+", re.IGNORECASE)
_CONJUNCTION = re.compile(r"^\s*(?:(?:and|but|or|also|then|plus)\b[\s,]*)+", re.IGNORECASE)
_ELLIPSIS = re.compile(
    r"^\s*(?:what|how)\s+about\b|\b(?:the\s+same|as\s+well|else)\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"\b(?:it|they|them|he|she|him)\b", re.IGNORECASE)
_POSSESSIVE = re.compile(r"\b(?:its|their|his)\b|\bher\b(?=\s+\w)", re.IGNORECASE)
# "That" in "the tool that does it" refers to its own sentence; here it is subject or object.
_DEMONSTRATIVE = re.compile(
    r"(?:^|\b(?:is|are|was|were|do|does|did|can|of|to|in|for|with|why|how|mean|about|after|before)"
    r"\s+)(?P<reference>(?:this|that|these|those)\b(?:\s+ones?\b)?)(?P<is_last>\W*$)?",
    re.IGNORECASE,
)
# "How long does it take to deploy a model?" and "is it possible to ..." refer to nothing before.
_EXPLETIVE = re.compile(
    r"^(?>.*?\bit\b).*?\b(?:to|that|if|when)\s+\w+", re.IGNORECASE | re.MULTILINE
)
_DEFINITION = re.compile(r"^\s*(?:who|what)\s+(?:is|are|was|were)\s+\w", re.IGNORECASE)
# "The Pro plan?" and "What about the Pro plan?" ask of it what was asked before.
_NEW_SUBJECT = re.compile(
    r"(?:(?:what|how)\s+about\s+)?(?P<subject>(?:the|an?|our|my|your)(?:\s+[\w'’-]+){1,3})[\s?!.]*",
    re.IGNORECASE,
)
_TOPIC_START = re.compile(r"\b(?:the|an?|our|my|your|this|these)\s+(?=\w)", re.IGNORECASE)
_WORD = re.compile(r"[\w][\w'’-]*")

# A question with fewer content words is not self-contained.
MIN_CONTENT_WORDS = 2
# Content words. A longer question is not about the last answer, unless it refers to it.
MAX_BRIEF_WORDS = 3

_FUNCTION_WORDS = frozenset(
    "a about above after again all also am an and any are as at be because been before being"
    " below between both but by can could did do does doing down during each else exactly few"
    " for from further give had has have having he her here hers him his how i if in into is"
    " it its just long many may me might more most much must my no nor not now of off often ok"
    " okay on once one ones only or other our out over own please same shall she should so"
    " some such tell than that the their them then there these they this those through to too"
    " under until up us very was we well were what when where which while who whom whose why"
    " will with would yes you your".split()
)


def complete_follow_up(question: str, history: Sequence[Exchange]) -> str:
    """Return the question with its topic; unchanged if it is self-contained.

    Args:
        question: As asked.
        history: Earlier exchanges, oldest first.
    """
    if not history or not is_follow_up(question):
        return question
    bare = _strip_start(question)
    if asked := _ask_of_last(bare, history[-1].searched):
        return asked
    topic = _find_referent(bare, history[-1].searched) or _last_topic(history)
    if not topic or topic.lower() in bare.lower():
        return question
    return _insert_topic(bare, topic)


# A question from its verb on: "does it support tabs?".
_FROM_VERB = re.compile(rf"\b{_VERB}\s+\w.*", re.IGNORECASE | re.DOTALL)
# A name within a sentence; words that refer to a person, and to several things.
_NAME = re.compile(r"(?<=\w )[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*")
_PERSON = re.compile(r"\b(?:he|him|his|she|her)\b", re.IGNORECASE)
_SEVERAL_THINGS = re.compile(r"\b(?:they|them|their)\b", re.IGNORECASE)


def _ask_of_last(question: str, last: str) -> str:
    """Return "why does it support tabs?" for "why?" after "Does it support tabs?", else ""."""
    from_verb = _FROM_VERB.search(last)
    if from_verb is None or _content_words(question) or _refers(question):
        return ""
    return f"{question.rstrip('?!. ')} {from_verb[0][:1].lower()}{from_verb[0][1:]}"


def _find_referent(question: str, last: str) -> str:
    """Return the name or the several things of the last question that a pronoun refers to."""
    if _PERSON.search(question) and (name := _NAME.search(last)):
        return name[0]
    found: list[str] = []
    words: list[str] = []
    for word in _WORD.findall(last) if _SEVERAL_THINGS.search(question) else ():
        words = [*words, word] if _content_words(word) else []
        if words and word.endswith("s") and not word.endswith(("ss", "us", "is")):
            found.append(" ".join(words))
    return found[-1] if found else ""


def _refers(question: str) -> bool:
    return any(each.search(question) for each in (_PRONOUN, _POSSESSIVE, _DEMONSTRATIVE))


_ABOUT = re.compile(r"(?:(?:what|how)\s+about\s+)?(?:(?:the|an?)\s+)?", re.IGNORECASE)
_HOW_MANY = re.compile(
    rf"\A(?P<asks>how (?:many|much)|what|which) .+?(?P<rest> {_VERB}\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_PREPOSITION = re.compile(
    r"(?:for|in|at|on|after|before|during|with|without|from|by|under|over|until) ", re.IGNORECASE
)
_QUESTION_WORD = re.compile(
    rf"(?:what|which|whose|who|whom|when|where|why|how|if|{_VERB})\b", re.IGNORECASE
)


def find_new_subject(question: str) -> str:
    """Return what a follow-up without a verb names: "and the sick days?"; else ""."""
    named = _ABOUT.sub("", _strip_start(question), count=1).rstrip("?!. ")
    is_named = _content_words(named) and not (_refers(named) or _QUESTION_WORD.match(named))
    return named if is_named else ""


def recast_follow_up(question: str, history: Sequence[Exchange]) -> str:
    """Return the last question asked of the follow-up's new subject; "" if that is unclear.

    After "How many holidays do we get at Acme?", "and sick days?" is "How many sick days do we get
    at Acme?", and "and at Zeta?" is "How many holidays do we get at Zeta?".
    """
    named = find_new_subject(question)
    last = history[-1].searched.rstrip("?!. ") if history else ""
    if not named or not last:
        return ""
    if preposition := _PREPOSITION.match(named):
        before, _, after = last.rpartition(f" {preposition[0].lower()}")
        return f"{before or after} {named}?"
    how_many = _HOW_MANY.fullmatch(last)
    return f"{how_many['asks']} {named}{how_many['rest']}?" if how_many else ""


def _last_topic(history: Sequence[Exchange]) -> str:
    """Return the topic of the last standing question, with the last subject named since."""
    topic = ""
    for past in history:
        changed = _NEW_SUBJECT.fullmatch(_strip_start(past.question))
        if changed is not None:
            subject = changed["subject"]
            # "The Basic plan cost" becomes "the Pro plan cost".
            _, _, rest = f"{topic} ".partition(f" {subject.split()[-1]} ")
            topic = f"{subject} {rest}".strip()
        elif past.searched == past.question:
            topic = find_topic(past.question)
    return topic or find_topic(history[-1].searched)


def _strip_start(question: str) -> str:
    """Return a question without the words that join it to what was said before."""
    return _CONJUNCTION.sub("", _FILLER.sub("", question)) or question


def is_follow_up(question: str) -> bool:
    """Return whether a question needs an earlier one to be understood."""
    question = _FILLER.sub("", question)
    bare = _CONJUNCTION.sub("", question)
    if bare != question or _ELLIPSIS.search(bare) or _DEMONSTRATIVE.search(bare):
        return True
    reference = _POSSESSIVE.search(bare) or _PRONOUN.search(bare)
    words = _content_words(bare)
    if reference is not None:
        before = _content_words(bare[: reference.start()])
        is_answered_inside = len(before) >= MIN_CONTENT_WORDS or _EXPLETIVE.search(bare)
        return len(words) < MIN_CONTENT_WORDS or not is_answered_inside
    return len(words) < MIN_CONTENT_WORDS and not (words and _DEFINITION.match(bare))


def complete_within_documents(question: str, history: Sequence[Exchange]) -> str:
    """Return what to search for in the documents quoted last: the question's own words.

    Only words that refer to the topic are replaced. A topic that is merely appended finds the last
    answer again; but one that a follow-up changed is that of no standing question.
    """
    bare = _strip_start(question)
    refers = _refers(bare) or bool(history and _ask_of_last(bare, history[-1].searched))
    changed = any(_NEW_SUBJECT.fullmatch(_strip_start(past.question)) for past in history[1:])
    names_subject = _NEW_SUBJECT.fullmatch(bare) is not None
    if refers or (changed and not names_subject):
        return complete_follow_up(question, history)
    return find_new_subject(question) or bare


def is_about_new_subject(question: str, text: str) -> bool:
    """Return whether a text has a word of a follow-up's new subject; true if there is none."""
    named = {word.stem for word in read_words(find_new_subject(question)) if word.is_content}
    return not named or not named.isdisjoint(word.stem for word in read_words(text))


def is_brief(question: str) -> bool:
    """Return whether a question has so few words that it may be about what was said before."""
    return len(_content_words(question)) <= MAX_BRIEF_WORDS


def find_topic(question: str) -> str:
    """Return the topic of a question: its noun phrase, else its content words."""
    bare = question.strip().rstrip("?!. ")
    start = _TOPIC_START.search(bare)
    if start is not None and _content_words(bare[start.start() :]):
        return bare[start.start() :]
    return " ".join(_content_words(bare))


def _insert_topic(question: str, topic: str) -> str:
    """Replace the word that refers to the topic, else append the topic."""
    demonstrative = _DEMONSTRATIVE.search(question)
    if match := _POSSESSIVE.search(question):
        (start, end), filled = match.span(), f"{topic}'s"
    elif match := _PRONOUN.search(question):
        (start, end), filled = match.span(), topic
    elif demonstrative and demonstrative["is_last"] is not None:
        (start, end), filled = demonstrative.span("reference"), topic
    else:
        return f"{question.rstrip('?!. ')} ({topic})?"
    completed = question[:start] + filled + question[end:]
    return completed[:1].upper() + completed[1:]


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text) if word.lower() not in _FUNCTION_WORDS]


# Words of a side, and of a whole comparison: what is longer compares no two things by their names.
MAX_NAME_WORDS = 8
MAX_WORDS = 40

_PLEASE = r"(?:please |(?:can|could|would) you (?:please )?)?"
_LEAD = r"(?:(?:what (?:is|are)|what['\u2019]s|explain|describe|tell (?:me|us)|show (?:me|us)) )?"
_AND = r" ?, (?:and )?| and | & "
# Patterns of comparisons, with their sides in groups, and the word between two of them.
_COMPARISONS = tuple(
    (re.compile(form, re.IGNORECASE), re.compile(between, re.IGNORECASE))
    for form, between in (
        (rf"{_PLEASE}(?:compare|contrast)(?: and contrast)? (?P<sides>.+)", _AND),
        (rf"{_PLEASE}(?:compare|contrast) (?P<sides>.+)", r" (?:with|to|against) "),
        (
            rf"{_PLEASE}{_LEAD}(?:the |any )?(?:(?:main|key|biggest) )?"
            r"(?:difference|distinction|comparison)s? between (?P<sides>.+)",
            _AND,
        ),
        (r"what distinguishes (?P<sides>.+)", r" from "),
        (
            r"how (?:do|does|did|is|are|was|were) (?P<sides>.+)",
            r" (?:differ from|different (?:from|to|than)|compared? (?:to|with)) ",
        ),
        (r"how (?:do|did|are|were) (?P<sides>.+) (?:differ|different|compare)", _AND),
        (r"what (?:do|does) (?P<sides>.+) (?P<verb>stand for|mean)", _AND),
        (r"(?P<sides>.+)", r" (?:vs\.?|versus) "),
    )
)
# In what respect sides are compared: it holds for each.
_RESPECT = re.compile(r" (?:in|for|when|regarding|with regard to) .+\Z", re.IGNORECASE)
_NO_NAME = re.compile(
    r"(?:what|which|whose|who|whom|when|where|why|how|is|are|was|were|do|does|did|can|could|should"
    r"|will|would|has|have|if|in|others?)\b",
    re.IGNORECASE,
)


class Side(NamedTuple):
    """A thing that is compared, and the question about it."""

    name: str
    question: str


def split_comparison(text: str) -> tuple[Side, ...]:
    """Return the sides of a comparison, at most ``MAX_PARTS``; else none.

    "How does a page differ from a ticket?" has two: "What is a page?", "What is a ticket?".
    """
    words = text.rstrip(" .?!\n").split()
    question = " ".join(words)
    for form, between in _COMPARISONS if len(words) <= MAX_WORDS else ():
        match = form.fullmatch(question)
        if match is None:
            continue
        names, respect = _split_sides(match["sides"], between)
        if len(names) > 1 and all(map(_is_side, names)):
            verb = match.groupdict().get("verb")
            return tuple(Side(name, _ask_of(name, verb, respect)) for name in names)
    return ()


def _split_sides(sides: str, between: re.Pattern[str]) -> tuple[list[str], str]:
    """Return the names of the sides and the aspect; no names if the split is unclear."""
    *first, last = between.split(sides)
    respect = _RESPECT.search(last)
    names = [*first, last[: respect.start()] if respect else last]
    names = [name.removeprefix("both ").removeprefix("between ").strip() for name in names]
    # "Search and replace and grep" may be two or three.
    is_clear = len(names) == 2 or between.pattern != _AND or "," in sides  # noqa: PLR2004
    is_apart = len({name.lower() for name in names}) == len(names) <= MAX_PARTS
    return (names if is_clear and is_apart else []), respect.group() if respect else ""


def _is_side(name: str) -> bool:
    is_short = len(name.split()) <= MAX_NAME_WORDS
    has_content = any(word.is_content for word in read_words(name))
    return is_short and has_content and not (_NO_NAME.match(name) or set("?!:;,") & set(name))


def _ask_of(name: str, verb: str | None, respect: str) -> str:
    if verb:
        return f"What does {name} {verb}{respect}?"
    last = name.rsplit(maxsplit=1)[-1]
    is_singular = name.lower().startswith(("a ", "an ")) or last.isupper()
    is_plural = not is_singular and last.endswith("s") and not last.endswith(("ss", "us", "is"))
    return f"What {'are' if is_plural else 'is'} {name}{respect}?"


_DOCUMENTS = r"(?:documents?|docs?|files?|pages?|manuals?|guides?|sources?|texts?)"
_SPEAKS = (
    r"(?:(?:talks?|speaks?|writes?) about|(?:is|are) about(?! to )|mentions?|covers?"
    r"|discuss(?:es)?|deals? with|refers? to|contains?(?: information (?:on|about))?"
    r"|says? (?:something|anything) (?:about|on)"
    r"|have (?:something|anything|information) (?:about|on))"
)
_THEM = rf"(?:of )?(?:(?:the|my|our|your|these) )?{_DOCUMENTS}(?: here)?"
# Which file has the passwords, or which source has iron, a text may say.
_HOLDS = r"(?:files?|sources?|texts?) contains? (?!information )"
_MENTIONS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:which|what) (?!{_HOLDS}){_THEM} {_SPEAKS} (?P<topic>.+)",
        rf"in (?:which|what) {_THEM} (?:is|are) (?P<topic>.+) (?:mentioned|covered|discussed)",
        rf"(?:please )?(?:list|find|show|give)(?: me| us)?(?: all)? {_THEM}"
        rf"(?: (?:that|which) {_SPEAKS}| about| on) (?P<topic>.+)",
        rf"(?:are|is) there (?:any|an?|some)?(?: other)? ?{_DOCUMENTS}"
        rf"(?: (?:that|which) {_SPEAKS}| about| on) (?P<topic>.+)",
    )
)


def parse_document_query(text: str) -> str:
    """Return the topic of "Which documents mention X?", or ""."""
    words = text.rstrip(" .?!\n").split()
    if len(words) > MAX_WORDS:
        return ""
    matches = (form.fullmatch(" ".join(words)) for form in _MENTIONS)
    return next((each["topic"] for each in matches if each), "")


_TEXTS = r"(?:documents?|docs?|files?|texts?)"
_ALL_TEXTS = rf"(?:all )?(?:of )?(?:(?:the|my|our|your|these) )?{_TEXTS}(?: here)?"
_WHERE = rf"(?: (?:in {_ALL_TEXTS}|in (?:the|my|our|this) (?:collection|library)|here))"
_PHRASE = r"(?P<phrase>.+?)"
# Words that are clearly meant as such: "the word drift", or in quotes.
_AS_WORDS = r"(?:(?:an? |the )?(?:exact )?(?:words?|phrase|term|expression|string|name)\b ?)"
_QUOTED_PHRASE = r"(?:\"[^\"]+\"|\u201c[^\u201d]+\u201d|\u00ab[^\u00bb]+\u00bb)"
_WORDS_MEANT = rf"(?P<words>{_AS_WORDS}.+?|{_QUOTED_PHRASE})"
_HAVE = (
    rf"(?:mention(?:s|ing)? {_PHRASE}|(?:contain|include|use|have|has)(?:s|ing)? {_WORDS_MEANT})"
)
_OCCURS = r"(?:occur|appear|come up)"
_GROUP = r"(?P<group>month|tag|folder|sender|source|collection)s?"
_GROUPED = rf"(?:,? (?:grouped )?(?:by|per|for each) {_GROUP})?"
_COUNTS = tuple(
    re.compile(rf"(?:please )?{form}{_GROUPED}", re.IGNORECASE)
    for form in (
        rf"(?:how many|count|(?:what is )?the number of) {_ALL_TEXTS}(?: (?:that|which))? {_HAVE}",
        rf"in how many {_ALL_TEXTS} (?:is|are) {_PHRASE} mentioned",
        rf"in how many {_ALL_TEXTS} (?:does|do) {_PHRASE} {_OCCURS}",
        rf"how (?:often|many times) (?:is|are) {_PHRASE} mentioned{_WHERE}?",
        rf"how (?:often|many times) (?:does|do) {_PHRASE} {_OCCURS}{_WHERE}",
        rf"how (?:often|many times) (?:does|do) {_WORDS_MEANT} {_OCCURS}",
        rf"how (?:often|many times) (?:does|do) {_ALL_TEXTS} {_HAVE}",
        rf"(?P<list>(?:which|what)) {_ALL_TEXTS} {_HAVE}",
        rf"(?P<list>in (?:which|what)) {_ALL_TEXTS} (?:is|are) {_PHRASE} mentioned",
        rf"(?P<list>in (?:which|what)) {_ALL_TEXTS} (?:does|do) {_PHRASE} {_OCCURS}",
        rf"(?P<list>list|find|show)(?: me| us)? {_ALL_TEXTS}(?: (?:that|which))? {_HAVE}",
    )
)
_AMOUNTS = re.compile(
    r"(?:please )?"
    r"(?:how many|count|(?:what is )?the number of|(?P<list>which|what|list|show|find|give))"
    r"(?: me| us)?(?: all)?(?: of)?(?: (?:the|my|our|your|these))?"
    r" (?P<noun>[\w-]+(?: [\w-]+){0,2}?)"
    r"(?: (?:that|which|whose (?:total|amount|value|price|sum)))?(?: (?:are|is|were|was|cost))?"
    r"(?: with an? (?:total|amount|value|price|sum)(?: of)?)?(?: (?:worth|for|of))?"
    rf" (?P<amount>(?:{COMPARISONS}) ?[^ ].*?)(?:,? (?:with|and) (?:their|the) dates?)?{_WHERE}?"
    rf"{_GROUPED}",
    re.IGNORECASE,
)
# Documents that state an amount of money; "employees over 50" are no such.
_MONETARY = frozenset(
    "agreements bills contracts estimates grants invoices leases notes offers orders quotations"
    " quotes receipts rechnungen".split()
)
_ARTICLE = re.compile(rf"(?:{_AS_WORDS}|an? |the )", re.IGNORECASE)
# Nobody counts a pronoun, and a choice of several things is no phrase.
_PRONOUNS = frozenset("it this that these those them they he she him her".split())
_SEVERAL = re.compile(r",|\b(?:and|or|but|not|without)\b", re.IGNORECASE)


def parse_count_query(text: str) -> Intent | None:
    """Return the intent of "How many documents mention X?", or of one for amounts; else None.

    ``text`` of the intent is the phrase, without an article; ``wants_list`` if documents are asked
    for, instead of their number. What a text says may not be counted: "How often does an inspection
    occur?", "How many documents contain a signature?".
    """
    question = " ".join(text.rstrip(" .?!\n").split())
    if len(question.split()) > MAX_WORDS:
        return None
    match = next(filter(None, (form.fullmatch(question) for form in _COUNTS)), None)
    if match is None:
        return _parse_amounts(question)
    groups = match.groupdict()
    phrase = groups.get("phrase") or groups.get("words") or ""
    phrase = _ARTICLE.sub("", phrase, count=1) if _ARTICLE.match(phrase) else phrase
    is_quoted = re.fullmatch(_QUOTED_PHRASE, phrase) is not None
    phrase = phrase[1:-1].strip() if is_quoted else phrase
    is_phrase = is_quoted or not (phrase.lower() in _PRONOUNS or _SEVERAL.search(phrase))
    if not (is_phrase and any(map(str.isalnum, phrase))):
        return None
    return Intent(
        IntentKind.COUNT,
        phrase,
        wants_list=bool(groups.get("list")),
        group_by=(groups["group"] or "").lower(),
    )


def _parse_amounts(question: str) -> Intent | None:
    """Return the intent of "Which invoices are over 500 EUR?", or None."""
    match = _AMOUNTS.fullmatch(question)
    words = match["noun"].split() if match else []
    wanted = parse_range(match["amount"]) if match else None
    is_noun = len(_content_words(" ".join(words))) == len(words)
    if (
        match is None
        or wanted is None
        or not is_noun
        or not words[-1].lower().endswith(("s", "en"))
    ):
        return None
    if not (wanted.currency or words[-1].lower() in _MONETARY):
        return None
    return Intent(
        IntentKind.AMOUNTS,
        match["noun"],
        wants_list=bool(match["list"]),
        group_by=(match["group"] or "").lower(),
        amount=match["amount"],
    )
