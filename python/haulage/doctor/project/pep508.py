"""Requirements as pip writes them: ``xarray[io]>=2026.1; python_version >= "3.11"``."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement

from haulage.doctor.project.wanted import Place, Source, Trouble, Wanted, canonical


def add(source: Source, text: str, start: int, end: int, group: str | None = None) -> None:
    """Add the requirement in a stretch of the source; or the trouble with it.

    One that names an address stays as it is: which version lies there cannot be told from here.
    """
    where = place_of(source, start)
    try:
        found = Requirement(text.strip())
    except InvalidRequirement as error:
        cause = str(error).partition("\n")[0]
        hint = "write NAME, NAME==1.2 or NAME>=1.2,<2, one requirement at a time"
        source.troubles.append(Trouble(where, f"{text.strip()}: {cause}", hint))
        return
    wanted = Wanted(
        name=found.name,
        specifier=found.specifier,
        where=where,
        key=(str(source.path), start),
        text=text.strip(),
        extras=frozenset(found.extras),
        marker=found.marker,
        group=group,
    )
    before = source.text[start:end]
    source.places.append(
        Place(wanted, start, end, lambda *new: before if found.url else written(found, *new))
    )


def name_of(text: str) -> str | None:
    """Return the canonical name that a requirement asks for; ``None`` if it is none."""
    try:
        return canonical(Requirement(text).name)
    except InvalidRequirement:
        return None


def written(requirement: Requirement, name: str, low: str, high: str) -> str:
    """Return a requirement for other versions; its extras and its marker stay.

    >>> written(Requirement('Xarray[io]>=2027; python_version > "3.8"'), "xarray", "2026.1", "2026.1")
    'xarray[io]==2026.1; python_version > "3.8"'
    """
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{name}{extras}{span(low, high)}{marker}"


def span(low: str, high: str) -> str:
    """Return the specifier for these versions and those between.

    >>> span("1.2", "1.2"), span("1.2", "1.4")
    ('==1.2', '>=1.2,<=1.4')
    """
    return f"=={low}" if low == high else f">={low},<={high}"


def place_of(source: Source, start: int) -> str:
    """Return the file and the line of a character."""
    return f"{source.path.name}:{source.text.count(chr(10), 0, start) + 1}"
