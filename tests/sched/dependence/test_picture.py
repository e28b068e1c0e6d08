"""Pictures of nests: what is in them, and that they can be read."""

import re
from math import hypot
from xml.etree import ElementTree

import pytest

from polyvolta.sched.dependence import dependences
from polyvolta.sched.dependence.picture import draw
from polyvolta.sched.passes import tile
from polyvolta.sched.program import nest
from polyvolta.sched.scheduler.schedule import schedule
from polyvolta.sched.tree import Band, Domain, Member, Schedule
from polyvolta.sets import NotPlottable, PolyvoltaError, Set, UnknownName, aff

SVG = "{http://www.w3.org/2000/svg}"


def heat(A, T, N):
    for t in range(T):
        for i in range(1, N - 1):
            A[t + 1, i] = A[t, i - 1] + A[t, i] + A[t, i + 1]


def jacobi(A, B, T, N):
    for t in range(T):  # noqa: B007
        for i in range(1, N - 1):
            B[i] = A[i - 1] + A[i] + A[i + 1]
        for i in range(1, N - 1):
            A[i] = B[i - 1] + B[i] + B[i + 1]


def lu(A, N):
    for k in range(N):
        for i in range(k + 1, N):
            A[i, k] /= A[k, k]
        for i in range(k + 1, N):
            for j in range(k + 1, N):
                A[i, j] -= A[i, k] * A[k, j]


BOX = Set("{ S[i, j, k, l] : 0 <= i, j, k, l < 3 }")
SKEWED = ("floor(t/2)", "floor((t + i)/3)", "t", "t + i")


def skewed(program):
    members = tuple(Member((("S", aff(e)),)) for e in SKEWED)
    return Schedule(Domain(program.domain, Band(members)))


def parts(picture):
    """The dots (x, y, r) with their titles, and the arrows as points of (start, control, end)."""
    root = ElementTree.fromstring(picture.text)
    dots = {}
    for c in root.iter(f"{SVG}circle"):
        title = c.find(f"{SVG}title")
        if title is not None:
            dots[title.text] = tuple(float(c.get(k)) for k in ("cx", "cy", "r"))
    number = r"(-?[\d.]+)"
    curve = re.compile(f"M{number} {number}Q{number} {number} {number} {number}")
    arrows = [tuple(map(float, curve.match(p.get("d")).groups())) for p in root.iter(f"{SVG}path") if "Q" in p.get("d")]
    texts = [t.text for t in root.iter(f"{SVG}text")]
    return dots, arrows, texts


def test_each_instance_is_a_dot_and_each_dependence_an_arrow():
    program = nest(heat)
    (flow,) = dependences(program)
    dots, arrows, texts = parts(draw(program, T=4, N=7))
    assert set(dots) == {f"S[{t}, {i}]" for t in range(4) for i in range(1, 6)}
    assert len(arrows) == flow.relation.wrap().count(T=4, N=7)
    assert {"t", "i", "S", "flow (RAW)"} <= set(texts) and "anti (WAR)" not in texts


@pytest.mark.parametrize(
    "picture",
    [
        draw(nest(heat), T=4, N=7),
        draw(nest(heat), T=4, N=7, schedule=skewed(nest(heat))),
        draw(nest(lu), N=6, cut={"k": 1}),
        draw(nest(jacobi), [d for d in dependences(nest(jacobi)) if d.kind == "RAW"], T=3, N=7),
    ],
    ids=["heat", "skewed", "lu", "jacobi"],
)
def test_no_arrow_runs_through_a_dot_and_no_two_dots_touch(picture):
    dots, arrows, _ = parts(picture)
    places = list(dots.values())
    for k, (x, y, r) in enumerate(places):
        assert all(hypot(x - u, y - v) > r + s for u, v, s in places[:k])
        for x0, y0, x1, y1, x2, y2 in arrows:
            for n in range(21):
                t = n / 20
                u, v = ((1 - t) ** 2 * a + 2 * t * (1 - t) * b + t * t * c for a, b, c in ((x0, x1, x2), (y0, y1, y2)))
                assert hypot(u - x, v - y) > r


def test_the_legend_is_beside_the_dots():
    dots, _, _ = parts(draw(nest(jacobi), T=3, N=7))
    root = ElementTree.fromstring(draw(nest(jacobi), T=3, N=7).text)
    (legend,) = [float(t.get("x")) for t in root.iter(f"{SVG}text") if t.text == "S1"]
    assert legend > max(x + r for x, _, r in dots.values())


def test_in_the_coordinates_of_a_schedule_times_are_places():
    program = nest(heat)
    plain, timed = (parts(draw(program, T=4, N=7, **given)) for given in ({}, {"schedule": skewed(program)}))
    assert "i + t" in timed[2] and "i + t" not in plain[2]
    a, b = (timed[0][s] for s in ("S[0, 3]", "S[1, 2]"))
    assert a[1] == b[1] and a[0] < b[0]  # t + i is the same


def test_tiles_are_outlined_where_outer_times_differ():
    def bars(picture):
        return sum(len(re.findall("M", d)) for d in re.findall('<path d="([^"Q]*)" stroke="#555"', picture.text))

    program = nest(heat)
    assert bars(draw(program, T=2, N=5)) == 0
    square = Schedule(Domain(program.domain, Band(tuple(Member((("S", aff(e)),)) for e in ("floor(t/2)", "t", "i")))))
    # 4 x 3 places in two tiles: the outline has 14 sides, the line between them 3
    assert bars(draw(program, schedule=square, coordinates="instances", T=4, N=5)) == 17


def test_a_colour_for_each_value_of_an_expression():
    picture = draw(nest(heat), T=3, N=5, colour="t + i")
    fills = {re.search(r'fill="(#\w+)"><title>S\[(\d), (\d)\]', line).groups() for line in picture.text.split("\n")
             if "<title>" in line}  # fmt: skip
    by_value = {}
    for fill, t, i in fills:
        by_value.setdefault(int(t) + int(i), set()).add(fill)
    assert all(len(v) == 1 for v in by_value.values()) and len(set.union(*by_value.values())) == len(by_value) == 5


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda: draw(nest(heat), T=100, N=100), NotPlottable, "too many to be told apart"),
        (lambda: draw(nest(heat), T=3, N=4, M=4), UnknownName, "no parameter is called 'M'"),
        (lambda: draw(nest(heat), T=3), PolyvoltaError, "the parameter N has no value"),
        (lambda: draw(nest(lu), N=4), NotPlottable, r"more than two dimensions(.|\n)*cut={'j': 0}"),
        (lambda: draw(BOX, cut={"l": 3}), NotPlottable, r"cut={'l': 3, 'k': 0}"),
        (lambda: draw(Set("{ S[i] : 0 <= i < 999 }")), NotPlottable, r"600 instances are too many.*\n.*\nhint: draw a"),
        (lambda: draw(nest(heat), T=3, N=4, coordinates="instance"), UnknownName, "mean 'instances'"),
        (lambda: draw("{ S[i] }"), NotPlottable, "not a str"),
        (lambda: draw(nest(lu), N=4, cut={"l": 0}), UnknownName, "no iterator is called 'l'"),
        (lambda: draw(nest(heat), T=0, N=4), NotPlottable, "no instance"),
        (lambda: draw(nest(jacobi), T=12, N=26), NotPlottable, "more arrows than can be followed"),
    ],
)
def test_what_cannot_be_drawn_is_told(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_picture_is_saved_and_shown_as_text(tmp_path):
    picture = draw(Set("{ S[i] : 0 <= i < 3; T[] }"))
    picture.save(tmp_path / "nest.svg")
    assert (tmp_path / "nest.svg").read_text(encoding="utf-8") == picture.text == picture._repr_svg_()


def test_statements_that_a_sequence_parts_share_a_cell_of_the_tiled_loops():
    """Tiled by 2 x 4, S1[t, i] is in column t and row i + 2t, S2[t, i] in row i + 2t + 1, whatever their tile."""
    program = nest(jacobi)
    tiled = tile(schedule(program), (0,), [2, 4])
    dots, _, texts = parts(draw(program, [], schedule=tiled, T=4, N=7))
    (x0, y0, _), (x1, y1, _) = dots["S1[0, 1]"], dots["S2[3, 5]"]  # alone in their cells (0, 1) and (3, 12)
    width, height = (x1 - x0) / 3, (y0 - y1) / 11
    for t in range(4):
        for i in range(1, 6):
            for s, up in (("S1", 0), ("S2", 1)):
                cx, cy, _ = dots[f"{s}[{t}, {i}]"]
                assert abs(cx - x0 - t * width) < width / 2
                assert abs(y0 - cy - (i + 2 * t + up - 1) * height) < height / 2
    assert "t" in texts
