"""Device functions of copy engines, barriers that count and warpgroups."""
