"""From schedule trees to loops: the loop AST and the scanner."""
