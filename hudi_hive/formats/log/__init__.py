"""Log files of merge-on-read tables: blocks, delete records and the writer of both."""
