"""Folders of this machine whose files may be taken in.

``descent`` opens what lies below one, ``allowed`` says which may be named over HTTP, ``names`` says
what of a path is shown, ``file_systems`` what is mounted.
"""
