"""Attacks on a running service, of the ways in which one client can harm others.

``scripts/attack`` starts a service of its own and runs them all; each line of its table tells how
often an attack was tried and how often the service held.
"""
