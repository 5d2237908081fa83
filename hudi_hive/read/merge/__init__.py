"""Merges log records with the rows of their base file, by column."""
