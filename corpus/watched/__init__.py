"""Watched folders: what changes in one starts a sync of it.

``folders`` says which are watched, ``changes`` notices that something changed, in a thread for
each, and ``watcher`` starts the syncs, in one process of all that run beside each other.
"""
