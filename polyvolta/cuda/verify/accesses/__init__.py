"""Where accesses go: bounds, alignment, banks, sectors, races, barriers, integers."""
