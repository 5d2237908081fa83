"""``MetaClient``: one table at one moment (configuration, timeline, file-system view); and making a table."""
