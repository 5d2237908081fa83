"""Reads the metadata table (RFC-15): listings, column statistics, bloom filters and the record index."""
