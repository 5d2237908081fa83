"""The file-system view: names of data files, file groups and file slices of a table as Arrow tables."""
