"""Where data lies: bank model, swizzles, fragments of operands, the exchange of accumulators."""
