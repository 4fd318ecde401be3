"""Crawl the pages of one site, politely.

``scope`` tells which URLs belong to the site, and ``robots`` which ones may be fetched. ``fetcher``
sends one request at a time, with delays. ``frontier`` stores the URLs still to fetch, as items of a
job. ``page_sync`` ingests or deletes one page.
"""
