"""Connections to other programs whose content a collection mirrors: paperless-ngx, mail, storage.

``source`` is the interface, and one module implements it for each kind of source.
``source_settings`` reads which sources exist. ``corpus/jobs/kinds/source_job.py`` syncs them, and
``corpus/watched/due_syncs.py`` lists them and starts the syncs that are due.
"""
