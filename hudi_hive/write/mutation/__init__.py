"""Inserts, updates and deletes of records by key as one commit."""
