"""What the rule of `tuning` goes through: block tiles for sizes, and the tilings of warpgroups."""
