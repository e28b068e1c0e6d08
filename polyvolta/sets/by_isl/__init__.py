"""isl's names of what has another name here, or is an operator; `text.of_isl` looks them up where one is missing."""
