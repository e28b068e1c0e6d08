"""`polyvolta draw`: what it writes, and where."""

import re

import pytest

from polyvolta.cli.commands import main
from polyvolta.cuda.pictures.svg import RED

SMALL = ("--block-tile", "32x32x16", "--warp-tile", "16x16x16")


@pytest.fixture
def draw(capsys, monkeypatch, tmp_path):
    """Runs `polyvolta draw` in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["draw", *argv, *SMALL])
        return left.value.code or 0, *capsys.readouterr()

    return run


def test_all_pictures_fill_a_folder(draw, tmp_path):
    code, out, _ = draw("-o", "here/below")
    names = {path.stem for path in (tmp_path / "here" / "below").iterdir()}
    operands = {f"shared_{x}{end}" for x in "AB" for end in ("", f"-frag_{x}", f"-frag_{x}-unswizzled", f"-store_{x}",
                                                             f"-store_{x}-unswizzled")}  # fmt: skip
    result = {
        "instruction",
        "ownership",
        "output-C",
        "pipeline",
        "exchange",
        "exchange-exchange_C",
        "exchange-gather_C",
    }
    assert (code, names) == (0, operands | result)
    assert len(out.splitlines()) == len(names) and all(
        re.match(r"wrote .*\.svg, \d+ x \d+ pixels", x) for x in out.splitlines()
    )


@pytest.mark.parametrize("argv, said", [
    (("ownership", "--layouts", "col,row"), "A column-major, B row-major"),
    (("instruction", "--layouts", "col,row"), "A column-major, B row-major"),
    (("tile", "--tile", "shared_B"), "shared_B in shared memory"),
    (("tile", "--access", "load", "--warp", "3"), "what warp 3 loads in frag_A"),
    (("tile", "--access", "load", "--unswizzled"), "2-way bank conflicts"),
    (("output", "--size", "40x50x16", "--block", "1,1"), "block 1, 1: 4 storing warps"),
    (("pipeline", "--tiles", "2"), "K = 32"),
    (("pipeline", "--size", "9x9x100"), "K = 100"),
])  # fmt: skip
def test_one_picture_is_one_file(draw, tmp_path, argv, said):
    assert draw(*argv)[0] == 0
    (path,) = tmp_path.iterdir()
    assert path.name == f"{argv[0]}.svg"
    assert said in path.read_text(encoding="utf-8")


def test_a_broken_kernel_is_drawn_as_it_is(draw, tmp_path):
    code, out, _ = draw("pipeline", "--break", "no barrier before the stores", "-o", "broken.svg")
    assert code == 0 and "broken on purpose" in out
    assert RED in (tmp_path / "broken.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("argv, id, said", [
    (("tyle",), "PV103", "did you mean 'tile'"),
    (("tile", "--tile", "shared_C"), "PV560", "no tile 'shared_C'"),
    (("tile", "--access", "frag_B"), "PV560", "no statement 'frag_B'"),
    (("output", "--block", "9,9"), "PV558", "there is no block (9, 9)"),
    (("output", "--size", "9999x9999x9"), "PV562", "more than a picture can show"),
    (("tile", "--warp", "99"), "PV563", "access is a statement such as frag_A"),
    (("output", "--warp", "1", "--size", "40x50x16"), "PV607", "no use for --warp hint: the picture that has is tile"),
    (("ownership", "--tiles", "3"), "PV607", "no use for --tiles hint: the picture that has is pipeline"),
    (("pipeline", "--tiles", "13"), "PV563", "1 to 12 k tiles"),
    (("ownership", "-o", "no/such/folder.svg"), "PV605", "can't be written"),
])  # fmt: skip
def test_errors(draw, argv, id, said):
    code, _, err = draw(*argv)
    assert code == 2 and f"error {id}" in err and said in " ".join(err.split())


def test_a_file_in_the_folders_place(draw, tmp_path):
    (tmp_path / "pictures").write_text("")
    code, _, err = draw()
    assert code == 2 and "PV605" in err and "no folder" in err


def test_of_roles_the_pictures_that_there_are(capsys, monkeypatch, tmp_path):
    """Tensor cores read no fragments, boxes have no lanes; the result's pieces do, and the roles are one picture."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["draw", "--target", "sm_90a", "--block-tile", "64x64x64", "--tiles", "2"])
    names = {path.stem for path in (tmp_path / "pictures").iterdir()}
    assert not left.value.code and names == {
        "instruction", "shared_A", "shared_B", "shared_C", "shared_C-put_C", "shared_C-put_C-unswizzled", "output-C",
        "pipeline",
    }  # fmt: skip
    with pytest.raises(SystemExit) as left:
        main(["draw", "tile", "--target", "sm_90a", "--block-tile", "64x64x64", "--access", "box_A"])
    assert left.value.code == 2 and "PV561: no lane reaches shared_A in box_A" in capsys.readouterr().err
