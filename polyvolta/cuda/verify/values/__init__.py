"""What memories and results hold: formulas of tensor elements, followed through a kernel."""
