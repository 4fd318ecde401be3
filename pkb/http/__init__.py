"""HTTP layer of all requests: admission, access, errors, formats, headers and OpenAPI."""
