"""One file a kind of job."""
