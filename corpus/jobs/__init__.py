"""Background work: jobs and their items, who runs them, and what each kind does."""
