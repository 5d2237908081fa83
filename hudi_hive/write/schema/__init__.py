"""The schema that a write leaves: evolution against the table's, history, required columns."""
