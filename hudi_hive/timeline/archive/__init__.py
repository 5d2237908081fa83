"""Reads archived instants: the archive log of table versions up to 6 and the LSM timeline of version 8 and later."""
