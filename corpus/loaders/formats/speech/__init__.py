"""Subtitles and transcripts, with their times."""
