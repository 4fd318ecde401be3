"""Reading pages that are pictures: text with its place and how sure it is, by rapidocr."""

# The key, in a document's metadata, of what OCR did.
OCR = "ocr"
# Of pages and of lines. Of 57 pages those under it had .72 of their tokens right at most, those
# above it, in languages that the model knows, .92 at least (benchmarks/results/ocr.md).
UNSURE_BELOW = 0.95
