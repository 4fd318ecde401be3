"""Questions that put things side by side, and what is asked of each."""

import pytest

from qa.asked.comparisons import MOST_NAME_WORDS, MOST_WORDS, split_comparison

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
    f"{'very ' * MOST_NAME_WORDS}old vs new",
    f"Compare {'very ' * MOST_WORDS} old and new",
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
