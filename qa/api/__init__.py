"""The HTTP doors to what is asked; each family of endpoints is one file."""
