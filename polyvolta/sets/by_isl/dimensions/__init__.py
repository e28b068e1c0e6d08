"""What isl says of dimensions: those of a kind and a position (`by_kind`), the multiples that one has (`strides`)."""
