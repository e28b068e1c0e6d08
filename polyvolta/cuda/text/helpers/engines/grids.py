"""Grids that run into one another, `griddepcontrol`.

Source: PTX ISA, "Parallel Synchronization and Communication Instructions: griddepcontrol".
"""

from __future__ import annotations

from polyvolta.cuda.text.helpers.device_function import DeviceFunction

AWAIT = DeviceFunction(
    "await_grids",
    "void",
    (),
    ('asm volatile("griddepcontrol.wait;" ::: "memory");',),
    "waits until the grids before are over, and their writes are seen",
    (),
)

RELEASE = DeviceFunction(
    "release_grids",
    "void",
    (),
    ('asm volatile("griddepcontrol.launch_dependents;" ::: "memory");',),
    "the grid behind may start; it waits itself for this one's end",
    (),
)
