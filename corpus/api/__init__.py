"""The HTTP doors to what is known: parse, call, render; each family of endpoints is one file."""
