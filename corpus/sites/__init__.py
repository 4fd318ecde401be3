"""Sites that are kept in step: which there are, and when each is brought in again."""
