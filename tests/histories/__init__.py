"""Histories of many clients at once, and the model that says what each of them may and must see."""
