"""Pictures of what observers saw, one module for each kind; `picture.drawn` finds the one that is meant."""
