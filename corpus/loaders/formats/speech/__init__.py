"""What was said: subtitles and transcripts, with the times at which it was."""
