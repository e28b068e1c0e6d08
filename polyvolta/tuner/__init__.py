"""Timing the best guesses on the GPU at hand, and remembering the winner."""
