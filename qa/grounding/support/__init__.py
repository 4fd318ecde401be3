"""Decide whether a text supports a claim: rules for facts, a relevance model for the rest."""

from qa.grounding.support.verdict import Support, Verdict, judge_claim, keeps_facts

__all__ = ["Support", "Verdict", "judge_claim", "keeps_facts"]
