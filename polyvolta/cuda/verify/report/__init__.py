"""What was shown, and how it looks: text, terminal, notebook."""
