"""Does a text hold up a claim: rules for what must not be altered, a model for the rest."""

from qa.grounding.support.verdict import Support, Verdict, judge_claim, keeps_facts

__all__ = ["Support", "Verdict", "judge_claim", "keeps_facts"]
