"""What users hold and what it is made from: expressions, spaces, relations, sets and maps."""
