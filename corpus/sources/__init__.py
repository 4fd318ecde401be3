"""Other programs that a collection mirrors: documents of paperless-ngx, mail.

``base`` is the port, and one module implements it for a kind of source; ``configuration`` says
which there are. What is made of what they list and hand over is the business of
``corpus/jobs/kinds/source.py``.
"""
