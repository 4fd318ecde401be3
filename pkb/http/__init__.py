"""What holds for every request and reply: errors, formats, bounds, headers, OpenAPI."""
