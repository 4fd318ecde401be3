"""One module for each format, with a function ``load``, and their shared helpers."""
