"""isl's objects that are numbers, tuples, texts and lists here: with isl's methods, where isl's names give them."""
