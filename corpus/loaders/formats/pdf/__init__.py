"""Pages of PDFs: lines to paragraphs and headings, and page images."""
