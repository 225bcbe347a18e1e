"""Commands of click that take what the commands in Rust take, and refuse what those refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from haulage.commands import mistakes
from haulage.commands.leading import leading, not_again
from haulage.errors import UsageError

_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
#: Where a context keeps the values as they were written.
_GIVEN = "haulage.given"
#: How progress is shown.
PROGRESS = ("auto", "bar", "plain", "none")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class Command(click.Command):
    """A command that also takes the options of all commands, and names each mistake as those in Rust do."""

    # Said by the command itself.
    allow_extra_args = True

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        names = {name for param in self.params for name in param.opts}
        if "--progress" not in names:
            # Nothing is shown while it runs, so any way to show it will do.
            how = click.Choice(PROGRESS)
            self.params.append(click.Option(["--progress"], type=how, hidden=True, expose_value=False))

    def make_parser(self, ctx: click.Context) -> Any:
        """Return the parser, which also refuses options that are given twice or lack their value."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            if not ctx.resilient_parsing:
                _check_values(args, ctx)
            given, rest, order = parse(args)
            ctx.meta[_GIVEN] = given
            if not ctx.resilient_parsing:
                _check_once(order, ctx)
            return given, rest, order

        parser.parse_args = parse_args
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; refuse arguments that have no place."""
        super().parse_args(ctx, args)
        if ctx.args and not ctx.resilient_parsing:
            raise mistakes.one_too_many(ctx.args[0], ctx.command_path)
        return ctx.args


class Group(click.Group):
    """A group of commands. The options of all commands may stand before the name of the command, too."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; pass such options on to the command."""
        led, rest = leading(args)
        if led and not rest:
            raise mistakes.no_command(ctx.command_path)
        asks = bool(rest) and rest[0].startswith("-")
        if rest and not asks:
            rest = [rest[0], *not_again(led, rest[1:]), *rest[1:]]
        return super().parse_args(ctx, rest)


def command(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], Command]:
    """Decorate a function that is a command."""
    return click.command(name, cls=Command, context_settings=_SETTINGS, **attributes)


def group(kind: type[Group] = Group, **attributes: Any) -> Callable[[Callable[..., Any]], Group]:
    """Decorate a function that is a group of commands."""
    return click.group(cls=kind, context_settings=_SETTINGS, **attributes)


def with_options(*options: Callable[[_Function], _Function]) -> Callable[[_Function], _Function]:
    """Return a decorator that adds these options, in this order."""

    def decorate(function: _Function) -> _Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


QUIET = click.option("-q", "--quiet", is_flag=True, help="Print only errors.")


class BadValueError(click.BadParameter):
    """A value that is not what an option takes; ``hint`` says what to write."""

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


def explain(error: click.ClickException, command_path: str) -> UsageError:
    """Return what click says of a command line in the words of all commands."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path if ctx is not None else command_path
    if ctx is not None:
        match error:
            case click.NoSuchOption():
                return mistakes.no_such_option(error.option_name, _options(ctx), path)
            case click.exceptions.NoSuchCommand() if isinstance(ctx.command, click.Group):
                return mistakes.no_such_command(error.command_name, ctx.command.list_commands(ctx), path)
            case click.MissingParameter(param=param) if param is not None:
                return mistakes.missing(_missing(param, ctx.command.params), path)
            case click.BadParameter(param=param) if param is not None:
                return _of_value(error, param, ctx)
    # None that is known of.
    return UsageError("parse", "arguments", error.format_message(), f"{path} --help shows examples")


def _of_value(error: click.BadParameter, param: click.Parameter, ctx: click.Context) -> UsageError:
    name = param.opts[0] if isinstance(param, click.Option) else _name(param)
    name = next((option for option in param.opts if option.startswith("--")), name)
    value, kind, path = _bad_one(param, ctx), param.type, ctx.command_path
    if isinstance(kind, click.Choice):
        return mistakes.not_one_of(name, value, [str(choice) for choice in kind.choices], path)
    hint = error.hint if isinstance(error, BadValueError) else _number(kind)
    return mistakes.bad_value(name, value, hint, path)


def _number(kind: click.ParamType[Any]) -> str | None:
    """Return what to write as a number."""
    if not isinstance(kind, (click.types.IntParamType, click.types.FloatParamType)):
        return None
    what = "a whole number" if isinstance(kind, click.types.IntParamType) else "a number"
    low, high = getattr(kind, "min", None), getattr(kind, "max", None)
    if low is not None and getattr(kind, "min_open", False):
        return f"write {what} greater than {low}"
    if low is not None and high is not None:
        return f"write {what} from {low} to {high:.0f}"
    return f"write {what}" if low is None else f"write {what} from {low}"


def _bad_one(param: click.Parameter, ctx: click.Context) -> str:
    """Return the value, as it was written, that a parameter does not take."""
    given = ctx.meta.get(_GIVEN, {}).get(param.name)
    for value in given if isinstance(given, (list, tuple)) else [given]:
        try:
            param.type.convert(value, param, ctx)
        except click.UsageError:
            return str(value)
    return ""


def _check_values(args: Sequence[str], ctx: click.Context) -> None:
    """Raise if an option stands where another has its value, or has a value although it takes none."""
    options, words = _options(ctx), iter(args)
    for word in words:
        name, equals, value = word.partition("=")
        option = options.get(name)
        if word == "--":
            return
        if option is None:
            continue
        if not _takes_value(option):
            if equals:
                raise mistakes.takes_no_value(name, value, ctx.command_path)
        elif not equals:
            following = next(words, None)
            if following is None or following == "--" or following.partition("=")[0] in options:
                raise mistakes.needs_a_value(name, ctx.command_path)


def _check_once(order: Iterable[click.Parameter], ctx: click.Context) -> None:
    """Raise if an option that counts once was given twice."""
    seen: set[str] = set()
    for param in order:
        if not isinstance(param, click.Option) or param.multiple or param.count:
            continue
        if param.opts[-1] in seen:
            raise mistakes.given_twice(max(param.opts, key=len), ctx.command_path)
        seen.add(param.opts[-1])


def _options(ctx: click.Context) -> dict[str, click.Option]:
    """Return the options of a command by each of their names."""
    options = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def _takes_value(option: click.Option) -> bool:
    return not option.is_flag and not option.count


def _missing(first: click.Parameter, params: Sequence[click.Parameter]) -> list[str]:
    """Return the names of what is missing: places are filled from the left."""
    if isinstance(first, click.Option):
        return [max(first.opts, key=len)]
    places: list[click.Parameter] = [param for param in params if isinstance(param, click.Argument)]
    return [_name(param) for param in places[places.index(first) :] if param.required]


def _name(param: click.Parameter) -> str:
    """Return how help names an argument, without what says how often it may be given."""
    name = (param.metavar or (param.name or "").upper()).removesuffix("...")
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name
