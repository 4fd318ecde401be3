"""Endpoints of the audit log, of grants, and of the OAuth resource metadata."""
