"""The order of blocks: a bijection, by going through grids and by its proof; wrong orders are told apart."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyvolta.cuda.ir.block_order import MOST_BLOCKS, PLAIN, BlockOrder


@pytest.mark.parametrize("group", [1, 2, 3, 8])
def test_every_place_is_one_blocks(group):
    order = BlockOrder(group)
    for columns, rows in product(range(1, 10), range(1, 20)):
        places = [order.place(n, columns, rows) for n in range(columns * rows)]
        assert sorted(places) == list(product(range(columns), range(rows)))
        assert [order.number(x, y, columns, rows) for x, y in places] == list(range(columns * rows))


@given(group=st.integers(1, 64), columns=st.integers(1, 2**20), rows=st.integers(1, 2**11), data=st.data())
def test_large_grids(group, columns, rows, data):
    order, n = BlockOrder(group), data.draw(st.integers(0, columns * rows - 1))
    column, row = order.place(n, columns, rows)
    assert 0 <= column < columns and 0 <= row < rows
    assert order.number(column, row, columns, rows) == n


def test_groups_go_column_by_column():
    """Drawn by hand: 6 columns, 5 rows, in groups of 3."""
    drawn = [[0, 3, 6, 9, 12, 15], [1, 4, 7, 10, 13, 16], [2, 5, 8, 11, 14, 17],
             [18, 20, 22, 24, 26, 28], [19, 21, 23, 25, 27, 29]]  # fmt: skip
    assert [[BlockOrder(3).number(x, y, 6, 5) for x in range(6)] for y in range(5)] == drawn


def test_blocks_of_a_batch_come_in_the_order_in_which_they_start():
    found = BlockOrder(4).blocks((3, 7, 2), 5, 40)
    assert found.shape == (3, 35)
    for k, n in enumerate(range(5, 40)):
        x, y = BlockOrder(4).place(n % 21, 3, 7)
        assert found[:, k].tolist() == [x, y, n // 21]
    whole = PLAIN.blocks((3, 7, 2), 0, 42)
    assert whole.tolist() == [[n % 3 for n in range(42)], [n // 3 % 7 for n in range(42)], [n // 21 for n in range(42)]]


@pytest.mark.parametrize("group", [1, 2, 5, 16])
def test_the_proof_holds(group):
    lemmas = BlockOrder(group).proof()
    assert all(lemma.holds for lemma in lemmas)
    assert len(lemmas) == group + 3


class Transposed(BlockOrder):
    """Columns and rows of a group by the wrong divisor."""

    def within(self, place, height):
        return place // self.group, place % self.group


class Shifted(BlockOrder):
    def counted(self, column, row, height):
        return column * height + row + 1


class Uneven(BlockOrder):
    def split(self, row):
        return row // (self.group + 1), row % (self.group + 1)


@pytest.mark.parametrize("wrong", [Transposed(3), Shifted(3), Uneven(3)])
def test_a_wrong_order_has_no_proof_and_is_no_bijection(wrong):
    assert not all(lemma.holds for lemma in wrong.proof())
    places = [wrong.place(n, 4, 5) for n in range(20)]
    there_and_back = [wrong.number(x, y, 4, 5) for x, y in places]
    assert len(set(places)) < 20 or there_and_back != list(range(20))


def test_numbers_beyond_an_int_do_not_fit():
    order = BlockOrder(8)
    assert order.fits((2**20, 2**10, 1)) and not order.fits((2**20, 2**11, 1))
    assert PLAIN.fits((2**31 - 1, 65535, 1))
    columns = MOST_BLOCKS // 8
    assert order.fits((columns, 8, 1)) and order.fits((columns, 1, 1)) and not order.fits((columns, 9, 1))


def test_arrays_and_numbers_agree():
    numbers = np.arange(77)
    x, y = BlockOrder(4).place(numbers, 7, 11)
    assert list(zip(x.tolist(), y.tolist())) == [BlockOrder(4).place(n, 7, 11) for n in range(77)]
    assert BlockOrder(4).number(x, y, 7, 11).tolist() == numbers.tolist()
