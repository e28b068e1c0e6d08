"""What loops of several statements cost at some sizes, and cuts that cost less."""
