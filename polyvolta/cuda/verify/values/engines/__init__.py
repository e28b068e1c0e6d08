"""Values that copy engines and warpgroups move, and what lies where for them."""
