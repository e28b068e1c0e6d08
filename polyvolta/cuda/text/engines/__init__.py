"""What a loop over k tiles, or over a block's tiles, has of its own in the text: slots of rings, places of tiles."""
