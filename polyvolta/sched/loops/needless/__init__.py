"""What decides nothing where it stands, of conditions and bounds of code that is made: looked for at a few places, and
left out where no integers need it.
"""
