"""One commit of a writer, from the requested instant to the completed one; and the first commit of a new table."""
