"""Types of what this project uses of Lance, whose own ones bring a hundred modules."""
