"""Mail: threads of a folder as documents, with what is attached as documents of their own.

``folder`` is what the kinds of folders have to give, ``threads`` says what belongs together,
``reading`` makes a document of a thread; ``mbox``, ``maildir`` and ``imap`` are the folders.
"""
