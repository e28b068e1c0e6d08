"""Conditions moved outward, to where they first hold: from what code needs, and from what neighbours test alike."""
