"""Walk through the pages of one site, politely.

``scope`` says which addresses belong to it, ``robots`` which of them may be asked for, ``visits``
asks, one at a time and not too often, ``frontier`` keeps what is still to be asked, in the items of
a job, and ``pages`` brings one page in, or lets it go.
"""
