"""isl's texts of functions of several tuples whose values may be fractions; see `union_fractions`.

>>> from polyvolta.isl import MultiUnionPwAff
>>> print(read("L[{ S[i] -> [(i)/2]; T[] -> [0] }, { S[i] -> [i]; T[] -> [1] }]", MultiUnionPwAff))
{ S[i] -> L[(i)/2, (i)]; T[] -> L[(0), (1)] }
"""

from __future__ import annotations

from typing import Any

from ...functions.members import read_each
from ...text.union_functions import Reader, is_tuple_of_functions
from ...values.set import Set
from ...values.space import Tuple
from .one_space import side_by_side
from .own_domains import UnionMembers, have_one_domain
from .union_fractions import gathered


class _Fractions(Reader):
    """A reader of tuples of functions whose values may be fractions."""

    def member(self, start: int, end: int) -> Any:  # noqa: ANN401
        found = self.read(read_each, start, end)
        if any(len(f) != 1 or f.space.out.name or f.space.out.inner for f in found):
            raise self.no_number(start)
        return found

    def joined(self, out: Tuple, domain: Set | None, start: int) -> Any:  # noqa: ANN401
        from .multi_union import MultiUnionPwAff, UnionPwMultiAff

        apart = [gathered(f, UnionPwMultiAff) for f in self.members]
        if have_one_domain(apart):
            found = gathered(side_by_side(out, self.members), MultiUnionPwAff)
        else:
            found = UnionMembers(out, apart)
        return found if domain is None else found.intersect_domain(domain)


def read(text: str, kind: Any) -> Any:  # noqa: ANN401
    """The function that a text says; errors as of `parse_functions`."""
    return _Fractions(text).whole() if is_tuple_of_functions(text) else gathered(read_each(text), kind)
