"""Makes scan plans: snapshot, incremental and change-data queries over the file slices of a table."""
