"""Arrays of other libraries in host memory, read where they lie: DLPack's structure, and numpy's view of it."""
