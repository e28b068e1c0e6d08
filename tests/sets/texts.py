"""Random texts in isl's notation."""

import random


def expression(rng: random.Random, names: list[str], depth: int = 2) -> str:
    pick = rng.randrange(9 if depth else 3)
    a = rng.choice(names)
    sub = lambda: expression(rng, names, depth - 1)  # noqa: E731
    return [
        lambda: f"{rng.randint(-3, 4)}{a}",
        lambda: a,
        lambda: str(rng.randint(-4, 5)),
        lambda: f"{sub()} + {sub()}",
        lambda: f"{sub()} - {rng.randint(1, 3)}*({sub()})",
        lambda: f"floor(({sub()})/{rng.randint(2, 5)})",
        lambda: f"({sub()}) mod {rng.randint(2, 5)}",
        lambda: f"{rng.randint(2, 3)} * {a} mod {rng.randint(2, 5)}",
        lambda: f"{rng.choice(['min', 'max'])}({sub()}, {sub()})",
    ][pick]()


def formula(rng: random.Random, names: list[str], depth: int = 2) -> str:
    sub = lambda: formula(rng, names, depth - 1)  # noqa: E731
    op = lambda: rng.choice(["<=", "<", ">=", ">", "=", "!="])  # noqa: E731
    e = lambda: expression(rng, names)  # noqa: E731
    pick = rng.randrange(9 if depth else 4)
    return [
        lambda: f"{e()} {op()} {e()}",
        lambda: f"{e()} <= {rng.choice(names)} {op()} {e()}",
        lambda: f"{rng.choice(names)}, {rng.choice(names)} {op()} {e()}",
        lambda: f"{', '.join(names[:2])} {rng.choice(['<<', '<<=', '>>', '>>='])} {e()}, {e()}",
        lambda: f"{sub()} and {sub()}",
        lambda: f"({sub()} or {sub()})",
        lambda: f"not ({sub()})",
        lambda: f"({sub()} implies {sub()})",
        lambda: f"(exists e{depth} : {formula(rng, [*names, f'e{depth}'], 0)})",
    ][pick]()


def drawn(seed: int) -> tuple[str, int, bool, int]:
    """A random text, its number of dimensions, whether it is a map, and how many of the dimensions are inputs."""
    rng = random.Random(seed)
    is_map = rng.random() < 0.4
    names, n = ["N", "i", "j"], 2
    if is_map:
        tuples = f"[i] -> [{rng.choice(['j', 'j', 'j = ' + expression(rng, ['N', 'i'])])}]"
    else:
        tuples = rng.choice(["[i, j]", "[i, j]", f"[i, j = {expression(rng, ['N', 'i'])}]"])
    parts = [f"{tuples} : {formula(rng, names)}" for _ in range(rng.randint(1, 2))]
    return f"[N] -> {{ {'; '.join(parts)} }}", n, is_map, 1 if is_map else 0
