"""Connections to other programs whose content a collection mirrors: paperless-ngx, mail.

``source`` is the interface, and one module implements it for each kind of source.
``source_settings`` reads which sources exist. ``corpus/jobs/kinds/source_job.py`` syncs them.
"""
