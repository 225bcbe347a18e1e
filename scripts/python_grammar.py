"""Write down the grammar of the commands that are in Python: `scripts/python_grammar.py [--check]`.

The command in Rust has it built in, so that completions, manual pages and `haul help lab` know these commands
also on a machine without Python. `--check` fails if a command, an argument, an option or an exit code is
missing or has gone; words may differ until `make packages` writes the file anew.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "crates/haulage-cli/src/python_commands.json"
#: What a shell completes as the name of a file or a folder.
PATHS = ("FILE", "DIR", "FOLDER", "RECORD", "PLAN", "RUN")


def commands() -> dict[str, Any]:
    """Return the grammar of each command, by its name."""
    from haulage.doctor.cli import _parser
    from haulage.lab.cli import lab
    from haulage.lab.why.cli import why
    from haulage.tables.cli import table
    from haulage.view.cli import index, view
    from haulage.watch.cli import watch

    trees = {"index": index, "lab": lab, "table": table, "view": view, "watch": watch, "why": why}
    found = {name: _of_click(tree) for name, tree in trees.items()}
    return {"doctor": _of_argparse(_parser()), **found}


def _of_click(command: click.Command) -> dict[str, Any]:
    """Return the grammar of a command and of those below it."""
    described: dict[str, Any] = {"about": command.get_short_help_str(limit=200).rstrip(".")}
    text = _plain(command.help or "")
    end = _plain(command.epilog or "", keep_lines=True)
    described |= {"text": text} if text else {}
    described |= {"end": end} if end else {}
    context = click.Context(command)
    params = [param for param in command.get_params(context) if param.name != "help"]
    args = [_argument(param) for param in params if isinstance(param, click.Argument)]
    named = [param for param in params if isinstance(param, click.Option) and not param.hidden]
    options = [_option(param) for param in named]
    options += [_opposite(param) for param in named if param.secondary_opts]
    described |= {"args": args} if args else {}
    described |= {"options": options} if options else {}
    if isinstance(command, click.Group):
        below = {name: command.get_command(context, name) for name in command.list_commands(context)}
        shown = {name: part for name, part in below.items() if part is not None and not part.hidden}
        described["commands"] = {name: _of_click(part) for name, part in shown.items()}
    return described


def _argument(param: click.Argument) -> dict[str, Any]:
    name = param.metavar or (param.name or "").upper()
    return _without_nothing(
        name=name.strip("[]").removesuffix("..."),
        required=param.required,
        many=param.nargs != 1,
        choices=_choices(param.type),
    )


def _option(param: click.Option) -> dict[str, Any]:
    names = param.opts
    takes_value = not param.is_flag and not param.count
    value = param.metavar or (None if _choices(param.type) else (param.name or "").upper().strip("_"))
    help_text = _plain(param.help or "").rstrip(".")
    if param.show_default and param.default is not None and takes_value:
        help_text += f" [default: {param.default}]"
    return _without_nothing(
        long=[name[2:] for name in names if name.startswith("--")],
        short=[name[1:] for name in names if not name.startswith("--")],
        value=(value or "HOW") if takes_value else None,
        choices=_choices(param.type) if takes_value else [],
        many=param.multiple,
        help=help_text,
    )


def _opposite(param: click.Option) -> dict[str, Any]:
    """Return the `--no-report` of a `--report`."""
    long = [name[2:] for name in param.secondary_opts]
    return {"long": long, "help": f"The opposite of {param.opts[0]}"}


def _choices(kind: object) -> list[str]:
    return [str(choice) for choice in kind.choices] if isinstance(kind, click.Choice) else []


def _of_argparse(parser: argparse.ArgumentParser) -> dict[str, Any]:
    """Return the same for the command that must start without click."""
    args, options = [], []
    for action in parser._actions:
        metavar = action.metavar
        value = " ".join(metavar) if isinstance(metavar, tuple) else metavar
        choices = [str(choice) for choice in action.choices or ()]
        if not action.option_strings:
            optional = action.nargs in ("?", "*")
            args.append(_without_nothing(name=value or action.dest.upper(), required=not optional))
        elif action.dest != "help" and action.help != argparse.SUPPRESS:
            options.append(
                _without_nothing(
                    long=[name[2:] for name in action.option_strings if name.startswith("--")],
                    short=[name[1:] for name in action.option_strings if not name.startswith("--")],
                    value=None if action.nargs == 0 else value or ("HOW" if choices else action.dest.upper()),
                    choices=choices,
                    help=_plain(action.help or ""),
                )
            )
    about = _plain(parser.description or "").rstrip(".")
    end = _plain(parser.epilog or "", keep_lines=True)
    return {"about": about, "end": end, "args": args, "options": options}


def _plain(text: str, *, keep_lines: bool = False) -> str:
    r"""Return a help text without the marks of click, each paragraph in one line unless lines count.

    >>> _plain("One\n    two.\n\n    \b\n    Three.")
    'One two.\n\nThree.'
    """
    text = inspect.cleandoc(text.split("\f")[0].replace("\b\n", "").replace("\b", ""))
    if keep_lines:
        return text.strip("\n")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n") if part.strip())


def _without_nothing(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, False, [], "")}


#: What is only read.
WORDS = ("about", "text", "end", "help")
#: An exit code in the table at the end of a help.
CODE = re.compile(r"(?<!\w)(\d+) {2,}\S")


def names(described: object) -> object:
    r"""Return the same without the words, but with the exit codes among them.

    >>> names({"about": "Runs it", "options": [{"long": ["to"], "help": "Where to"}]})
    {'options': [{'long': ['to']}]}
    >>> names({"end": "Exit codes:\n  0  all done   2  wrong usage"})
    {'codes': ['0', '2']}
    """
    if isinstance(described, dict):
        kept = {name: names(value) for name, value in described.items() if name not in WORDS}
        codes = CODE.findall(str(described.get("end", "")).partition("Exit codes")[2])
        return kept | {"codes": codes} if codes else kept
    return [names(value) for value in described] if isinstance(described, list) else described


def text() -> str:
    """Return the file."""
    return json.dumps(commands(), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check the file; return the exit code."""
    if sys.argv[1:] != ["--check"]:
        new = text()
        # A file that stays as it was keeps its age, or what contains it would be compiled again each time.
        if not WRITTEN.exists() or WRITTEN.read_text(encoding="utf-8") != new:
            WRITTEN.write_text(new, encoding="utf-8")
        return 0
    if names(json.loads(WRITTEN.read_text(encoding="utf-8"))) == names(commands()):
        return 0
    print(f"{WRITTEN.relative_to(ROOT)}: differs from the commands (hint: make grammar)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
