"""What tests share: a client, servers, users, documents, processes, ports."""
