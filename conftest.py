"""Without torch the modules of `polyvolta.torch` are no tests: their examples need it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["polyvolta/torch/*"]
