"""What tuning found out: kept in a file, and found again by `compile`."""
