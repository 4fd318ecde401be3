"""OCR of page images by rapidocr: text with position and confidence."""

# A4 at 230 dpi. Larger images take longer and are not read better.
OCR_PIXELS = 5_000_000
# Metadata key of the OCR summary.
OCR = "ocr"
# Confidence of pages and lines. In 57 pages, those below it had at most 0.72 of their tokens right;
# those above it, in supported languages, at least 0.92 (benchmarks/results/ocr.md).
UNSURE_BELOW = 0.95
