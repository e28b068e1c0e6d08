"""The compiler's own passes: which instance runs where (`decompose`), and how blocks are numbered (`marks`)."""
