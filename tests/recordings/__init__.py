"""What the packaged models say, kept on file, so that most tests run none of them."""
