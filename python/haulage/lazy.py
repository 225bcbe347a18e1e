"""Names of a package that are imported when they are first used, so that a command imports what it needs."""

# Without `from __future__`, typing and collections.abc: this is imported before all else.


def importing(package: str, homes: dict[str, str]):  # type: ignore[no-untyped-def]
    """Return a ``__getattr__`` for ``package``.

    Args:
        package: Its ``__name__``.
        homes: The names that it has, separated by spaces, by the module that has them.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def imported(name: str) -> object:
        import sys
        from importlib import import_module

        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return imported
