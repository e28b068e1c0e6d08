"""What transformations share: arguments, places, subtrees, and the check at the end."""
