"""What works beside the threads of a batch of blocks: barriers with phases, the copy engine, warpgroups' products."""
