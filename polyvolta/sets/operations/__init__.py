"""What makes relations from relations: algebra, composition, products, dimensions, orders, closures."""
