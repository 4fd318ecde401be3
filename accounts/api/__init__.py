"""Endpoints of the audit log and of grants."""
