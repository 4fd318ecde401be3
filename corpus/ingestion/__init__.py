"""Ingest documents: load, normalize, chunk, embed and write them.

- ``ingest.ingest_submission`` ingests the text or file of a ``submission.Submission``;
  ``web_addresses.ingest_url`` fetches a URL first.
- ``mirror.Mirror`` keeps documents in sync with a source: files of the server (``folder_mirror``),
  or another program (``source_mirror``).
- ``ingest.reingest_document`` chunks and embeds a stored document again;
  ``ingest.move_to_collection`` does so in another collection.
- Two commands split the work: ``bulk.load.cut_files`` writes a file of chunks, which
  ``bulk.embed.store_entries`` stores.
"""
