"""Mail: threads of a folder as documents, with attachments as separate documents.

``folder`` is the interface of mail folders, ``threads`` groups messages, ``messages`` builds a
document from a thread; ``mbox``, ``maildir`` and ``imap`` are the folders.
"""
