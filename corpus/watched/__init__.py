"""Start syncs automatically: of watched folders after changes, of sources when due.

``folders`` stores which folders are watched. ``changes`` detects changes, with a thread for each
folder. ``watcher`` starts the syncs, in one process of all. ``due_syncs`` returns the state of each
source and starts due syncs.
"""
