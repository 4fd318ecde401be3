"""Folders of the server whose files may be ingested.

``safe_open`` opens files below a root, ``allowed`` resolves paths of requests, ``shown_paths``
shortens them for clients, ``file_systems`` lists mounts, ``host_marker`` identifies the host.
"""
