"""The picture in the guide is the one that its snippet makes."""

from pathlib import Path

from examples.polybench import KERNELS
from polyvolta.sched.dependences import dependences, draw

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "jacobi.svg"


def test_the_picture_is_what_draw_makes():
    jacobi = KERNELS["jacobi-1d"].program
    flow = [d for d in dependences(jacobi) if d.kind == "RAW"]
    assert draw(jacobi, flow, T=3, N=7).text == PICTURE.read_text(encoding="utf-8")
