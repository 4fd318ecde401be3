"""What starts syncs by itself: changes of watched folders, and the time for a source.

``folders`` says which are watched, ``changes`` notices that something changed, in a thread for
each, and ``watcher`` starts the syncs, in one process of all that run beside each other.
``sources`` says how each source is, and starts the syncs that are due.
"""
