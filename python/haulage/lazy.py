"""Names of a package that are imported when they are first used, so that a command imports what it needs."""

# Without `from __future__`, typing and collections.abc: this is imported before all else.


def importing(  # type: ignore[no-untyped-def]
    package: str, homes: dict[str, str], parts: str = "", extras: dict[str, str] | None = None
):
    """Return a ``__getattr__`` for ``package``.

    Args:
        package: Its ``__name__``.
        homes: The names that it has, separated by spaces, by the module that has them.
        parts: Modules below it that need no import of their own, separated by spaces.
        extras: The extra of Haulage that has each package of others; if one is missing, the error says so.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    below = {*parts.split()}

    def imported(name: str) -> object:
        import sys
        from importlib import import_module

        if name in below:
            return import_module(f"{package}.{name}")
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value: object = getattr(import_module(home_of[name]), name)
        except ModuleNotFoundError as missing:
            extra = (extras or {}).get((missing.name or "").partition(".")[0])
            if extra is not None:
                missing.add_note(f"hint: pip install 'haulage[{extra}]'")
            raise
        setattr(sys.modules[package], name, value)
        return value

    return imported
