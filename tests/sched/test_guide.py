"""The pictures in the guide are those that its snippets make."""

from pathlib import Path

from examples.polybench import KERNELS
from polyvolta.sched.dependence import dependences, draw
from polyvolta.sched.passes import tile
from polyvolta.sched.scheduler.schedule import schedule

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
JACOBI = KERNELS["jacobi-1d"].program
FLOW = [d for d in dependences(JACOBI) if d.kind == "RAW"]


def test_the_picture_is_what_draw_makes():
    assert draw(JACOBI, FLOW, T=3, N=7).text == (PICTURES / "jacobi.svg").read_text(encoding="utf-8")


def test_the_picture_of_tiles_is_what_draw_makes():
    small = tile(schedule(JACOBI), (0,), [2, 4])
    made = draw(JACOBI, FLOW, schedule=small, T=4, N=7)
    assert made.text == (PICTURES / "jacobi-tiled.svg").read_text(encoding="utf-8")
