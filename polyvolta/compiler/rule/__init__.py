"""The rule by which options are chosen (`defaults`), and what it goes through: block tiles, tilings of warpgroups."""
