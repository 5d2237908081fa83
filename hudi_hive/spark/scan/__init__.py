"""Plans of Hudi tables as Spark's own scans: file index, filters, slices with logs, change data."""
