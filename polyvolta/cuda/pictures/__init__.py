"""Pictures of a kernel as SVG text: ownership maps, shared tiles, the tiles of an output, a k loop in time."""
