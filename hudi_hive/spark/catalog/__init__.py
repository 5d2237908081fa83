"""Synced tables in Spark's session catalog: look-up, table options, the hook of a session."""
