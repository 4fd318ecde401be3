"""HTTP endpoints for questions, answers and search; one module per family."""
