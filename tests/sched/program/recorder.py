"""What a loop nest does, found by running it: the oracle of `nest`.

The text of the function is instrumented and run by Python itself. Before each assignment the number of the assignment
and the values of the iterators around it are noted; every array is replaced by one that notes which elements are read
and written. Local scalars become elements of such an array, too. Nothing is shared with the reader of nests but
`ast`.
"""

import ast
from textwrap import dedent


class Recording:
    """An array of any size that notes its accesses; every element is 1.5, whatever is written."""

    def __init__(self, name, log, rank, at=()):
        self.name, self.log, self.rank, self.at = name, log, rank, at

    def _place(self, at):
        return (*self.at, *(at if isinstance(at, tuple) else (at,)))

    def __getitem__(self, at):
        place = self._place(at)
        if len(place) < self.rank:  # A[i] of A[i][j]
            return Recording(self.name, self.log, self.rank, place)
        self.log[-1]["reads"].add((self.name, place))
        return 1.5

    def __setitem__(self, at, value):
        self.log[-1]["writes"].append((self.name, self._place(at)))


class _Instrument(ast.NodeTransformer):
    def __init__(self, scalars):
        self.scalars, self.loops, self.count = scalars, [], 0

    def visit_For(self, node):
        self.loops.append(node.target.id)
        node.body = [x for s in node.body for x in self._listed(s)]
        self.loops.pop()
        return node

    def visit_If(self, node):
        node.body = [x for s in node.body for x in self._listed(s)]
        node.orelse = [x for s in node.orelse for x in self._listed(s)]
        return node

    def _listed(self, node):
        made = self.visit(node)
        return made if isinstance(made, list) else [made]

    def _assignment(self, node):
        if isinstance(node, ast.AnnAssign):
            node = ast.Assign([node.target], node.value)
        note = ast.parse(f"__note({self.count}, ({''.join(i + ', ' for i in self.loops)}))").body[0]
        self.count += 1
        self.generic_visit(node)
        return [note, node]

    visit_Assign = visit_AugAssign = visit_AnnAssign = _assignment

    def visit_Name(self, node):
        if node.id in self.scalars:
            return ast.Subscript(ast.Name("__scalars_" + node.id, ast.Load()), ast.Tuple([], ast.Load()), node.ctx)
        return node


def record(text, program, **values):
    """The instances of a nest in the order in which they run: a list of dicts with `statement` (its number in the
    text), `point`, `reads` (a set of elements) and `writes` (a list)."""
    tree = ast.parse(dedent(text))
    function = tree.body[0]
    instrument = _Instrument(set(program.local))
    function.body = [x for s in function.body for x in instrument._listed(s)]
    log = [{"statement": None, "point": (), "reads": set(), "writes": []}]
    ranks = {a.array: a.relation.space.n_out for s in program.statements for a in s.accesses}
    space = {f"__scalars_{v}": Recording(v, log, 0) for v in program.local}
    space["__note"] = lambda n, at: log.append({"statement": n, "point": at, "reads": set(), "writes": []})
    space |= dict(program.functions)
    exec(compile(ast.fix_missing_locations(tree), "nest", "exec"), space)
    arguments = {a: Recording(a, log, ranks.get(a, 1)) for a in program.arguments if a not in values}
    space[function.name](**arguments, **values)
    first, *rest = log
    assert not first["reads"] and not first["writes"]
    return rest
