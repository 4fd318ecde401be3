"""One file a format, with a function `load`; what several share stands beside them."""
