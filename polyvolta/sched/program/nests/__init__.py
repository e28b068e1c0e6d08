"""Programs read from loop nests in Python."""
