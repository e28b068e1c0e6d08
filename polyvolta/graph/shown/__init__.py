"""How expressions, tensors and graphs look in notebooks: as mathematics, and drawn."""
