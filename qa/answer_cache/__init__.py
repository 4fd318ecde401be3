"""Answers that are given again while nothing that decides them has changed."""

from qa.answer_cache.places import AnswerPlace, find_place, forget_answers

__all__ = ["AnswerPlace", "find_place", "forget_answers"]
