"""Shared by the tests: clients, servers, users, documents, processes, ports."""
