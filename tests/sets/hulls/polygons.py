"""Integer points in the plane, their convex hull, and whether all points of that are among them."""

from itertools import product

SIDE = range(-4, 9)  # of the square in which points are looked at


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def hull(points):
    """The corners of some points, counterclockwise."""
    corners = []
    for way in (sorted(points), sorted(points, reverse=True)):
        chain = []
        for p in way:
            while len(chain) > 1 and turn(chain[-2], chain[-1], p) <= 0:
                chain.pop()
            chain.append(p)
        corners += chain[:-1]
    return corners or list(points)


def is_convex(points):
    """Whether all integer points of the convex hull are among the points."""
    corners = hull(points)
    edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
    low, high = min(points), max(points)
    return not any(
        low[0] <= z[0] <= high[0] and all(turn(p, q, z) >= 0 for p, q in edges)
        for z in product(SIDE, SIDE)
        if z not in points and min(p[1] for p in points) <= z[1] <= max(p[1] for p in points)
    )
