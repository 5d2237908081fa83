"""Writes the metadata table (RFC-15): initialises its partitions and adds the records of each commit."""
