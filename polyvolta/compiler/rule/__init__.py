"""The rule by which options are chosen (`defaults`), what it goes through (block tiles, tilings of warpgroups), and the
problems that rule a tiling out.
"""
