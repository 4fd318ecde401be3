"""What a question asks for, by its words: its kind, parts, phrases, and what it follows up."""

import pytest

from qa.intent import (
    MAX_NAME_WORDS,
    MAX_PHRASES,
    MAX_SENTENCES,
    MAX_WORDS,
    Intent,
    IntentKind,
    asks_for_list,
    asks_how,
    classify,
    classify_request,
    complete_follow_up,
    complete_within_documents,
    find_phrases,
    find_sentences,
    find_topic,
    is_about_new_subject,
    is_brief,
    is_follow_up,
    parse_count_query,
    parse_document_query,
    recast_follow_up,
    split_comparison,
)
from qa.types import Exchange


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Hello!", IntentKind.GREETING),
        ("Which documents talk about the port?", IntentKind.MENTIONS),
        ("Which documents mention the port?", IntentKind.COUNT),
        ("Summarise everything", IntentKind.OVERVIEW),
        ("Summarise the fire manual", IntentKind.SUMMARY),
        ("What is the port? Who owns the mill?", IntentKind.PARTS),
        ("Compare rye and oats", IntentKind.COMPARISON),
        ("What is the port?", IntentKind.QUESTION),
        ("", IntentKind.QUESTION),
    ],
)
def test_a_question_has_the_intent_that_its_words_tell(question: str, kind: IntentKind) -> None:
    assert classify(question).kind is kind


def test_an_intent_has_what_is_asked_for_by_name_or_in_parts() -> None:
    assert classify("Which guides mention the port?") == Intent(IntentKind.MENTIONS, "the port")
    question = "Summarise the fire manual"
    assert classify(question) == Intent(IntentKind.SUMMARY, question, names=("the fire manual",))
    question = "What is the port? Who owns the mill?"
    parts = ("What is the port?", "Who owns the mill?")
    assert classify(question) == Intent(IntentKind.PARTS, question, parts=parts)


def test_a_comparison_has_its_sides_and_a_question_for_each() -> None:
    found = classify("What is the difference between rye and oats?")
    assert (found.kind, found.names) == (IntentKind.COMPARISON, ("rye", "oats"))
    assert len(found.parts) == len(found.names)
    assert all(name in part for name, part in zip(found.names, found.parts, strict=True))


@pytest.mark.parametrize(
    ("question", "wants_list"),
    [
        ("What are the kinds of grain?", True),
        ("What are the kinds of grain? What are the names of the mills?", True),
        ("What is the kind of grain?", False),
    ],
)
def test_a_question_for_several_things_wants_a_list(question: str, wants_list: bool) -> None:
    assert classify(question).wants_list is wants_list


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("How long does a refund take?", ()),
        ('Where does it say "two signatures"?', ("two signatures",)),
        (
            "What is \u201cgreen book\u201d and \u00ablivre vert\u00bb?",
            ("green book", "livre vert"),
        ),
        ("What does ERR_404_TIMEOUT mean?", ("ERR_404_TIMEOUT",)),
        ("Is CVE-2024-1234 fixed in v2.13.0?", ("CVE-2024-1234", "v2.13.0")),
        ("Who calls read_lexical_query and getUserName?", ("read_lexical_query", "getUserName")),
        ("Ping 10.0.0.1 or sha256?", ("10.0.0.1", "sha256")),
        ("In 1874, for 3.5 metres, on 12:30?", ()),
        ('Nothing "" is quoted', ()),
    ],
)
def test_quoted_phrases_and_identifiers_are_found(question: str, phrases: tuple[str, ...]) -> None:
    assert find_phrases(question) == phrases


def test_a_phrase_is_named_once_and_the_first_are_enough() -> None:
    assert find_phrases('sha256 is "sha256"') == ("sha256",)
    names = [f"a{number}" for number in range(MAX_PHRASES + 300)]
    assert find_phrases(" ".join(names)) == tuple(names[:MAX_PHRASES])


@pytest.mark.parametrize(
    ("question", "sentences"),
    [
        ("Who built the tower?", ()),
        ("Thanks! Who built the tower?", ()),
        (
            "i look for old towers. who built them, e.g. in Bavoke? see v1.2.",
            ("i look for old towers.", "who built them, e.g."),
        ),
        (
            "We had a storm; the lamp went out. Why?",
            ("We had a storm;", "the lamp went out."),
        ),
        ("", ()),
    ],
    ids=["one", "a greeting", "small letters", "semicolon", "empty"],
)
def test_a_question_of_several_sentences_is_cut(question: str, sentences: tuple[str, ...]) -> None:
    assert find_sentences(question) == sentences


def test_the_first_sentences_are_enough() -> None:
    text = " ".join(f"This is sentence {number}." for number in range(MAX_SENTENCES + 5))
    assert len(find_sentences(text)) == MAX_SENTENCES


@pytest.mark.parametrize(
    "question",
    [
        "What are the seven stages of the model lifecycle?",
        "What are the steps of indexing?",
        "what were the most common causes of skew",
        "What are common causes of skew?",
        "Which triggers start continuous training?",
        "Which data tests does the guide recommend?",
        "Which three things does MLOps add?",
        "What stages can a version have?",
        "What kinds of tests are there?",
        "What conditions make a rollback possible?",
        "In which cases is a store not needed?",
        "Who are the owners?",
        "List the ranges.",
        "Please list what is needed.",
        "Name the forms of quantization.",
        "Give me all steps.",
        "What two cities does it join?",
        "Which criteria are there?",
    ],
)
def test_a_question_for_several_things_is_told(question: str) -> None:
    assert asks_for_list(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the default port?",
        "What are embeddings?",
        "What happens in the evaluation stage?",
        "What causes training-serving skew?",
        "What makes a fast rollback possible?",
        "Which index needs a training step?",
        "Which is the fastest?",
        "What does the analysis say?",
        "What status does it give?",
        "How many stages are there?",
        "When was the mill built?",
        "Name the person who owns it.",
        "Who owns the two mills?",
        "What was the news of 1999?",
        "",
    ],
)
def test_a_question_for_one_thing_is_none_for_several(question: str) -> None:
    assert not asks_for_list(question)


@pytest.mark.parametrize(
    ("question", "is_how"),
    [
        ("How do I bake bread?", True),
        ("how can we install it", True),
        ("How to bake bread", True),
        ("What should I do when the disk is full?", True),
        ("How does it work?", False),
        ("How many steps are there?", False),
        ("Show tools.", False),
    ],
)
def test_a_question_how_to_do_something_is_told(question: str, is_how: bool) -> None:
    assert asks_how(question) is is_how


ASKED = "Who built the lighthouse at Bavoke?"
HISTORY = [Exchange(ASKED, ASKED, "Orsolya Quill built it.")]

COMPLETED = {
    "How tall is it?": "How tall is the lighthouse at Bavoke?",
    "and how long does it take?": "How long does the lighthouse at Bavoke take?",
    "What about its lamp?": "What about the lighthouse at Bavoke's lamp?",
    "How many steps?": "How many steps (the lighthouse at Bavoke)?",
    "Why?": "Why (the lighthouse at Bavoke)?",
    "What is that?": "What is the lighthouse at Bavoke?",
    "And does this tower leak?": "does this tower leak (the lighthouse at Bavoke)?",
}
STANDING = [
    "Who built the bakery in Lindow?",
    "What is MLOps?",
    "Who is Orsolya Quill?",
    "How long does it take to deploy a model?",
    "Is it possible to retrain daily?",
    "Which tool that does tracing is recommended?",
    "So what is model drift and why does it matter?",
    "Is there a refund for late orders?",
    "Wie hoch ist der Turm?",
]


@pytest.mark.parametrize("question", COMPLETED)
def test_a_follow_up_gets_the_topic_of_the_last_question(question: str) -> None:
    assert complete_follow_up(question, HISTORY) == COMPLETED[question]


@pytest.mark.parametrize("question", STANDING)
def test_a_question_that_stands_on_its_own_stays(question: str) -> None:
    assert complete_follow_up(question, HISTORY) == question
    assert not is_follow_up(question)


def test_without_a_history_nothing_is_completed() -> None:
    assert complete_follow_up("How tall is it?", []) == "How tall is it?"


def test_the_topic_is_that_of_the_last_question_that_has_one() -> None:
    history = [*HISTORY, Exchange("How tall is it?", "How tall is the lighthouse at Bavoke?", "")]
    assert "the lighthouse at Bavoke" in complete_follow_up("And who keeps it?", history)
    history = [Exchange("How tall is it?", "How tall is the lighthouse at Bavoke?", "")]
    assert "the lighthouse at Bavoke" in complete_follow_up("And who keeps it?", history)


@pytest.mark.parametrize(
    ("changed", "searched"),
    [
        ("and the Pro plan?", "the Pro plan?"),
        ("the Pro plan?", "the Pro plan?"),
        ("What about the Pro plan?", "What about the Pro plan (the Basic plan cost)?"),
    ],
)
def test_a_follow_up_may_change_the_topic_of_the_next(changed: str, searched: str) -> None:
    first = "How much does the Basic plan cost?"
    history = [Exchange(first, first, "19 EUR"), Exchange(changed, searched, "49 EUR")]
    for complete in (complete_follow_up, complete_within_documents):
        assert complete("and in 2025?", history) == "in 2025 (the Pro plan cost)?"
    assert complete_within_documents("and the Team plan?", history) == "Team plan"
    history.append(Exchange(ASKED, ASKED, ""))
    assert "Bavoke" in complete_follow_up("How tall is it?", history)


def test_a_topic_that_is_named_is_not_put_in_again() -> None:
    question = "And how tall is the lighthouse at Bavoke?"
    assert complete_follow_up(question, HISTORY) == question


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("and for part-timers?", "for part-timers"),
        ("What about Rodabu?", "Rodabu"),
        ("Why?", "Why?"),
        ("and how long?", "how long?"),
        ("How tall is it?", "How tall is the lighthouse at Bavoke?"),
    ],
)
def test_within_documents_only_references_are_replaced(question: str, searched: str) -> None:
    assert complete_within_documents(question, HISTORY) == searched


def after(last: str) -> list[Exchange]:
    return [Exchange(last, last, "Yes.")]


@pytest.mark.parametrize(
    ("last", "question", "completed"),
    [
        ("Does the mill grind rye?", "why?", "why does the mill grind rye?"),
        ("Until when must we call in?", "and to whom?", "to whom must we call in?"),
        ("Can unused sick days be moved?", "What happens to them?",
         "What happens to unused sick days?"),
        ("Where was Roo born?", "How do I call him?", "How do I call Roo?"),
        ("Where is the mill?", "How do I reach them?", "How do I reach the mill?"),
    ],
)  # fmt: skip
def test_words_that_refer_to_the_last_question_are_replaced(
    last: str, question: str, completed: str
) -> None:
    for complete in (complete_follow_up, complete_within_documents):
        assert complete(question, after(last)) == completed


@pytest.mark.parametrize(
    ("question", "recast"),
    [
        ("and sick days?", "How many sick days do we get at Acme?"),
        ("What about the sick days?", "How many sick days do we get at Acme?"),
        ("and at Zeta?", "How many holidays do we get at Zeta?"),
        ("and for Zeta?", "How many holidays do we get at Acme for Zeta?"),
        ("why?", ""),
        ("and its holidays?", ""),
        ("and when do we get them?", ""),
    ],
)
def test_the_last_question_is_asked_of_a_new_subject(question: str, recast: str) -> None:
    assert recast_follow_up(question, after("How many holidays do we get at Acme?")) == recast
    assert recast_follow_up(question, []) == ""


def test_of_other_questions_only_the_place_is_changed() -> None:
    assert recast_follow_up("and sick days?", after("Do we get holidays?")) == ""
    assert recast_follow_up("and at Zeta?", after("Do we get holidays?")) == (
        "Do we get holidays at Zeta?"
    )


def test_an_answer_has_a_word_of_the_new_subject() -> None:
    assert is_about_new_subject("and sick days?", "A day is free.")
    assert not is_about_new_subject("and for the crew of Zeta?", "A day is free.")
    assert is_about_new_subject("why?", "A day is free.")
    assert is_about_new_subject("and when is the office open?", "A day is free.")


def test_a_question_of_few_words_is_brief() -> None:
    assert is_brief("What are the 4 papers?")
    assert not is_brief("What are the four stages of restoring a mill?")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("can you shorten that?", IntentKind.SHORTER),
        ("Shorter, please", IntentKind.SHORTER),
        ("make it a bit shorter", IntentKind.SHORTER),
        ("in one sentence", IntentKind.SHORTER),
        ("translate it into German", IntentKind.REWORDING),
        ("Make it a table", IntentKind.REWORDING),
        ("please say that in simpler words", IntentKind.REWORDING),
        ("and as bullet points?", IntentKind.REWORDING),
        ("Shorten the URL", None),
        ("How do I translate it?", None),
        ("make a table", None),
        ("Translate the manual into German", None),
    ],
)
def test_requests_about_the_last_answer(text: str, kind: IntentKind | None) -> None:
    assert classify_request(text) is kind


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Who built the lighthouse at Bavoke?", "the lighthouse at Bavoke"),
        ("How does canary deployment work?", "canary deployment work"),
        ("?", ""),
    ],
    ids=["noun phrase", "telling words", "nothing"],
)
def test_topics(question: str, topic: str) -> None:
    assert find_topic(question) == topic


SIDES = {
    "Compare a feature store and a model registry": (
        "What is a feature store?", "What is a model registry?",
    ),
    "Could you please compare and contrast sed and awk?": ("What is sed?", "What is awk?"),
    "Compare WAL with the rollback journal": ("What is WAL?", "What is the rollback journal?"),
    "compare metrics, logs and traces": (
        "What are metrics?", "What are logs?", "What are traces?",
    ),
    "What is the difference between a page and a ticket?": (
        "What is a page?", "What is a ticket?",
    ),
    "main differences between both RAID1 and RAID0": ("What is RAID1?", "What is RAID0?"),
    "What's the difference between push and pop in quilt?": (
        "What is push in quilt?", "What is pop in quilt?",
    ),
    "How does a shadow  deployment differ from a canary release?": (
        "What is a shadow deployment?", "What is a canary release?",
    ),
    "How is chrony different from ntpd?": ("What is chrony?", "What is ntpd?"),
    "How do tickets compare to pages?": ("What are tickets?", "What are pages?"),
    "How do a page and a ticket differ?": ("What is a page?", "What is a ticket?"),
    "What distinguishes a page from a ticket?": ("What is a page?", "What is a ticket?"),
    "PSI vs. SLO": ("What is PSI?", "What is SLO?"),
    "sed vs awk vs. perl": ("What is sed?", "What is awk?", "What is perl?"),
    "Bus versus DNS?": ("What is Bus?", "What is DNS?"),
    "What do PSI and SLO stand for?": ("What does PSI stand for?", "What does SLO stand for?"),
}  # fmt: skip
WHOLE = [
    "What is a page and what is a ticket?",
    "Compare the results",
    "Compare drafts",
    "Which is faster, sed vs awk?",
    "sed vs awk: which is faster?",
    "Who won the game of Ajax vs Feyenoord?",
    "What is the difference between search and replace and grep?",
    "What is the difference between the two?",
    "What is the difference between a page and a Page?",
    "sed vs awk vs perl vs lua",
    "What is the difference between you and me?",
    "How does architecture differ from other sciences?",
    "How do I compare two files?",
    "What do you mean?",
    "What do you do and say?",
    "How is bread made from flour?",
    "a, b, c, d vs e",
    f"{'very ' * MAX_NAME_WORDS}old vs new",
    f"Compare {'very ' * MAX_WORDS} old and new",
    "",
]


@pytest.mark.parametrize("question", SIDES)
def test_each_side_of_a_comparison_is_asked_for(question: str) -> None:
    sides = split_comparison(question)
    assert tuple(side.question for side in sides) == SIDES[question]
    assert all(side.name in side.question for side in sides)


@pytest.mark.parametrize("question", WHOLE)
def test_what_compares_no_two_things_stays_whole(question: str) -> None:
    assert split_comparison(question) == ()


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Which documents talk about monitoring?", "monitoring"),
        ("What pages mention PSI?", "PSI"),
        ("Which of the documents here cover blue-green deployment?", "blue-green deployment"),
        ("Which guide is about drift?", "drift"),
        ("In which documents is PSI mentioned?", "PSI"),
        ("Find all documents about drift", "drift"),
        ("List the files that mention a canary release.", "a canary release"),
        ("Are there any documents on drift?", "drift"),
        ("Which files contain information about drift?", "drift"),
        ("Which documents contain a drift check?", "a drift check"),
        ("Which file contains the encrypted passwords?", ""),
        ("What sources contain vitamin C?", ""),
        ("Which documents are about to expire?", ""),
        ("Which documents are required?", ""),
        ("Which pages wake a person?", ""),
        ("Which document did he write about drift?", ""),
        ("Which book mentions drift?", ""),
        ("What is said about drift?", ""),
        (f"Which documents mention {'a ' * MAX_WORDS}?", ""),
        ("", ""),
    ],
)
def test_what_documents_are_sought_for_is_found(text: str, topic: str) -> None:
    assert parse_document_query(text) == topic


COUNTED = {
    "How many documents mention drift?": ("drift", False, ""),
    "how many of the documents mention a drift check by month": ("drift check", False, "month"),
    "How many files contain the phrase drift check?": ("drift check", False, ""),
    'How many documents contain "a drift, or none"?': ("a drift, or none", False, ""),
    "Count the documents that mention PSI per tag.": ("PSI", False, "tag"),
    "In how many documents is C++ mentioned?": ("C++", False, ""),
    "In how many texts does drift occur?": ("drift", False, ""),
    "How often is the drift check mentioned in my documents?": ("drift check", False, ""),
    "How many times does drift appear in all documents?": ("drift", False, ""),
    "How often does the word drift occur?": ("drift", False, ""),
    "How often do my documents mention drift?": ("drift", False, ""),
    "Which documents mention drift, grouped by folder?": ("drift", True, "folder"),
    "List all documents that mention \u201cor else\u201d": ("or else", True, ""),
    "In which files does drift appear?": ("drift", True, ""),
}


@pytest.mark.parametrize("question", COUNTED)
def test_phrase_to_count_is_read(question: str) -> None:
    counted = classify(question)
    assert counted.kind is IntentKind.COUNT
    assert (counted.text, counted.wants_list, counted.group_by) == COUNTED[question]


@pytest.mark.parametrize(
    "question",
    [
        "How many employees does Acme have?", "How often does an inspection occur?",
        "How many documents contain a signature?", "How many documents mention it?",
        "How many documents mention drift or skew?", "How many pages mention drift?",
        "How many documents are about drift?", "How many documents mention ...?",
        f"How many documents mention {'a ' * MAX_WORDS}?", "How often is it?",
    ],
)  # fmt: skip
def test_what_is_no_phrase_to_count_stays_a_question(question: str) -> None:
    assert parse_count_query(question) is None


AMOUNTS = {
    "List all invoices over 500 with their dates": ("invoices", "over 500", True, ""),
    "How many contracts over 10,000 EUR?": ("contracts", "over 10,000 EUR", False, ""),
    "Which invoices are under 100?": ("invoices", "under 100", True, ""),
    "how many of our purchase orders are worth at least $5k by month": (
        "purchase orders", "at least $5k", False, "month",
    ),
    "Show me the leases with a total of between 5 and 9 EUR here.": (
        "leases", "between 5 and 9 EUR", True, "",
    ),
    "Which grants whose amount is more than 2 million euros, and the dates": (
        "grants", "more than 2 million euros", True, "",
    ),
    "Count products that cost exactly 5 EUR": ("products", "exactly 5 EUR", False, ""),
}  # fmt: skip


@pytest.mark.parametrize("question", AMOUNTS)
def test_amounts_to_count_are_read(question: str) -> None:
    found = classify(question)
    assert found.kind is IntentKind.AMOUNTS
    assert (found.text, found.amount, found.wants_list, found.group_by) == AMOUNTS[question]


@pytest.mark.parametrize(
    "question",
    [
        "How many employees over 50?",
        "Which contracts are over 5 pages?",
        "Which invoices are over 30 days?",
        "What is the limit for orders over 500 EUR?",
        "Which approval is needed over 500 EUR?",
        "Which invoices over 500 EUR need a signature?",
        "Which cities have more than 500 inhabitants?",
        "List all invoices over 10.000 EUR",
    ],
)
def test_what_compares_no_amounts_stays_a_question(question: str) -> None:
    assert parse_count_query(question) is None
