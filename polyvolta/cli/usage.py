"""How the command line is read, beyond what typer does: help without types, hyphens for underscores, errors as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
import typer.core

from polyvolta.cli.errors import WrongUsage

UsageError: Any = typer.BadParameter.__base__


@contextmanager
def _usage_as_json(args: Sequence[str]) -> Iterator[None]:
    """With `--json` what is wrong with the command line itself is an error as any other."""
    try:
        yield
    except UsageError as wrong:
        if "--json" not in args:
            raise
        command = wrong.ctx.command_path if wrong.ctx is not None else "polyvolta"
        raise WrongUsage(wrong.format_message(), hint=f"{command} --help") from wrong


class _Plain:
    """Help in which `--help`, completion and arguments show no type; flags of our own have an empty `metavar`."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        with _usage_as_json([*args]):
            return super().make_context(info_name, args, *more, **extra)  # type: ignore[misc]

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        if option is not None:
            option.metavar = ""
        return option

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # type: ignore[misc]
        for p in params:
            if p.name in ("install_completion", "show_completion"):
                p.metavar = ""
            if isinstance(p, typer.core.TyperArgument):
                p.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
        return params


class Command(_Plain, typer.core.TyperCommand):
    """A command of `polyvolta`."""


class Group(_Plain, typer.core.TyperGroup):
    """`polyvolta` itself; an unknown command is wrong usage, too."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _usage_as_json([*args]):
            return super().resolve_command(ctx, args)


def with_hyphens(name: str) -> str:
    """An option's name, which may be written as the API has it: `--block_tile` is `--block-tile`."""
    return name.replace("_", "-")
