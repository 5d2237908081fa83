"""Writes file groups: markers, base files, log files, change data files and write statuses."""
