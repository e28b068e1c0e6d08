"""Names that others have for what a kernel has: what an error about a missing attribute says.

Read only when a name is missing.
"""

from __future__ import annotations

ELSEWHERE = (
    ("ptx sass asm binary code_object module", "source is the CUDA text, cubin() the machine code"),
    ("cuda text code src cuda_source", "source is the CUDA text"),
    ("grid block blocks threads shared shared_memory shared_bytes", "launch_config(M=..., ...) says it for sizes"),
    ("tree schedule_tree trees passes", "stages has the tree of each pass by name, schedule is the last one"),
    ("registers regs spills local_bytes occupancy", "resources() has what the machine code takes"),
    ("benchmark bench time timeit profile", "bind(...) launches with all done before; pv.tune(x, M=..., ...) times"),
    ("save dump write to_file export", "source and cubin() are what to write; pickle keeps a whole kernel"),
    ("run launch execute call forward", "a kernel is called: kernel(a, b); interpret(...) never takes a GPU"),
    ("check prove proofs validate", "verify() proves it"),
    ("draw plot show picture", "pv.pictures draws a kernel; print(stages['mapped']) shows a tree"),
)
"""Names, and what has it here."""


def of_kernel(name: str) -> str:
    """What has under another name what is looked for; "" of a name that nobody would look for.

    >>> of_kernel("ptx"), of_kernel("nothing_known")
    ('source is the CUDA text, cubin() the machine code', '')
    """
    return next((here for names, here in ELSEWHERE if name in names.split()), "")
