"""What the commands do, a module for each that is more than a few lines."""
