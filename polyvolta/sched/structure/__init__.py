"""What a place in a schedule tree means, and whether a tree is a schedule at all.

`given` says what is no tree, `reach` which instances come to a node, `times` when they run, `expansion` how groups are
taken out, `check` what is no schedule.
"""
