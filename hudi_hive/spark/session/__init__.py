"""What users call first: enable a session, read by name or path, table functions."""
