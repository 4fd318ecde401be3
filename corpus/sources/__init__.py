"""Connections to other programs whose content a collection mirrors: paperless-ngx, mail.

``base`` is the interface, and one module implements it for each kind of source. ``configuration``
reads which sources exist. ``corpus/jobs/kinds/source_job.py`` creates the documents.
"""
