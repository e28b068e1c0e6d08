"""The canvas: text that any reader of XML takes, in a frame that holds all of it."""

from polyvolta.cuda.pictures.svg import PAPER, RED, Canvas, Svg
from tests.cuda.pictures.reading import SVG, parsed, words


def drawn(*subtitle: str) -> Svg:
    picture = Canvas('a < b & "c"', *subtitle)
    with picture.group("<group> & title"):
        picture.rect(-20, 300, 40, 20, fill=RED)
        picture.text(500, 310, "i <= j & k", anchor="start")
    picture.hatch(0, 0, 30, 10)
    picture.arrow(0, 0, 0, 50)
    picture.key("what <it> means", fill=RED, second=PAPER)
    picture.key("a line", line=True)
    return picture.svg()


def test_it_is_xml_whatever_the_words():
    svg = drawn("", "below")
    assert isinstance(svg, str)
    assert words(svg) == ["i <= j & k", "what <it> means", "a line", "below", 'a < b & "c"']
    assert parsed(svg).find(f"{SVG}title").text == 'a < b & "c"'


def test_all_boxes_are_within_the_frame_on_painted_ground():
    svg = drawn()
    root = parsed(svg)
    x, y, width, height = map(float, root.get("viewBox").split())
    assert svg.size == (width, height)
    background, *boxes = root.iter(f"{SVG}rect")
    assert background.get("fill") == PAPER
    for box in boxes:
        left, top = float(box.get("x")), float(box.get("y"))
        assert x <= left and left + float(box.get("width")) <= x + width
        assert y <= top and top + float(box.get("height")) <= y + height
    for text in root.iter(f"{SVG}text"):
        assert x <= float(text.get("x")) <= x + width and y <= float(text.get("y")) <= y + height


def test_hatching_stays_in_its_box():
    picture = Canvas("")
    picture.hatch(10, 20, 30, 8)
    path = next(parsed(picture.svg()).iter(f"{SVG}path")).get("d")
    points = [tuple(map(float, p.split())) for p in path.replace("L", "M").split("M")[1:]]
    assert len(points) >= 8
    assert all(10 <= x <= 40 and 20 <= y <= 28 for x, y in points)


def test_nothing_has_an_id_so_that_pictures_share_a_page():
    assert " id=" not in drawn() and "<style" not in drawn() and "url(" not in drawn()


def test_notebooks_and_files(tmp_path):
    svg = drawn()
    assert svg._repr_svg_() == svg
    assert repr(svg) == f"<Svg, {svg.size[0]} x {svg.size[1]} pixels>"
    svg.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == svg
