"""Reading pages that are pictures: text with its place and how sure it is, by rapidocr."""

# The key, in a document's metadata, of what OCR did.
OCR = "ocr"
# Of the tokens of lines under it less than half are right, of the others 99 of 100
# (docs/decisions/0033).
UNSURE_BELOW = 0.9
