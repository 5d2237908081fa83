"""Writers of rows: the local one, and what a write reports."""
