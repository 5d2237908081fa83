"""What the documentation site is made of beside the pages of ``docs``: pages of the API and of files at the root."""
