"""Copy engines, barriers that count and warpgroups: operations that go on beside the threads."""
