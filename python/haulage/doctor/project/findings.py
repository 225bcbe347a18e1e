"""What a comparison comes to, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from haulage.doctor.finding import Finding, Level
from haulage.doctor.project.comparing import (
    Broken,
    Discrepancy,
    Node,
    broken,
    differing,
    discrepancies,
)
from haulage.doctor.project.wanted import Source, Wanted, canonical
from haulage.words.numbers import counted

#: Names that are shown of many nodes.
SHOWN = 4
#: Packages whose module has another name, where they are not installed.
OF_MODULES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "iris": "scitools-iris",
    "osgeo": "GDAL",
    "PIL": "pillow",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
#: What Dask sends between nodes is understood by the same version only.
ALIKE = ("distributed", "dask", "cloudpickle", "msgpack")


def of_source(source: Source) -> Iterator[Finding]:
    """Yield how many packages a project asks for, and what of its files is not understood."""
    wanted = [one for one in source.wanted if one.kind != "python"]
    text = f"{source.path.name} requires {counted(len(wanted), 'package')}"
    files = [str(one.path) for one in source.everything()]
    yield Finding("project.file", "ok", text, values={"files": files, "requirements": len(wanted)})
    for trouble in (trouble for one in source.everything() for trouble in one.troubles):
        yield Finding("project.unread", "warning", f"{trouble.where}: {trouble.text}", trouble.hint)


def of_requirements(
    wanted: Sequence[Wanted], nodes: Sequence[Node], modules: Mapping[str, Sequence[str]]
) -> Iterator[Finding]:
    """Yield each requirement that does not hold, and how many do."""
    found = list(discrepancies(wanted, nodes))
    for one in found:
        yield _missing(one, nodes, modules) if one.fault == "missing" else _version(one)
    faulty = {one.wanted.key for one in found}
    good = sum(one.kind != "python" and one.key not in faulty for one in wanted)
    everywhere = "" if len(nodes) == 1 else f" on all {len(nodes)} nodes"
    text = f"{counted(good, 'package')} installed as required{everywhere}"
    yield Finding("project.packages", "ok", text, values={"packages": good, "nodes": len(nodes)})


def _asked(wanted: Wanted) -> str:
    group = f", group {wanted.group}" if wanted.group else ""
    return f"{wanted.text} ({wanted.where}{group})"


def _missing(found: Discrepancy, nodes: Sequence[Node], modules: Mapping[str, Sequence[str]]) -> Finding:
    wanted = found.wanted
    names = [name for name, _ in found.nodes]
    values = {"name": wanted.name, "asked": wanted.text, "where": wanted.where, "missing": names}
    where = "" if len(nodes) == 1 else f" {shown(names, len(nodes))}"
    text = f"{_asked(wanted)} is not installed{where}"
    if wanted.group is not None:
        hint = f"if you need it: {_install(wanted)}"
        return Finding("project.missing", "note", text, hint, values=values)
    if wanted.kind == "conda" and not all(node.is_conda for node in nodes if node.name in names):
        hint = "activate the conda environment and run this again; outside it only Python packages are found"
        return Finding("project.missing", "warning", text, hint, values=values)
    renamed = packages_of(wanted.name, modules)
    if renamed:
        hint = f"{wanted.name} is a module of {renamed}: ask for {renamed}"
        return Finding("project.missing", "fault", text, hint, values={**values, "package": renamed})
    known = {canonical(name): name for node in nodes for name in node.told["packages"]}
    close = get_close_matches(canonical(wanted.name), known, 1, 0.8)
    maybe = f"; or is it {known[close[0]]}?" if close else ""
    return Finding("project.missing", "fault", text, _install(wanted) + maybe, values=values)


def packages_of(name: str, modules: Mapping[str, Sequence[str]]) -> str | None:
    """Return the one package that has a module of this name, if that is what it must be."""
    found = {canonical(one): one for one in modules.get(name.replace("-", "_"), ())}
    if not found and name in OF_MODULES:
        return OF_MODULES[name]
    return next(iter(found.values())) if len(found) == 1 and canonical(name) not in found else None


def _install(wanted: Wanted) -> str:
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    if wanted.kind == "conda":
        return f"conda install '{wanted.name}{wanted.specifier}'"
    return f"pip install '{wanted.name}{extras}{wanted.specifier}'"


def _version(found: Discrepancy) -> Finding:
    wanted = found.wanted
    there: dict[str, list[str]] = {}
    for name, version in found.nodes:
        there.setdefault(str(version), []).append(name)
    told = "; ".join(f"{version} is installed {shown(names)}" for version, names in there.items())
    values = {"name": wanted.name, "asked": wanted.text, "where": wanted.where, "installed": there}
    level: Level = "fault" if wanted.group is None else "warning"
    if wanted.kind == "python":
        hint = "use a Python of that version, or correct the file"
        return Finding("project.python", level, f"Python {_asked(wanted)}: {told}", hint, values=values)
    hint = f"{_install(wanted)}, or correct the file"
    return Finding("project.version", level, f"{_asked(wanted)}: {told}", hint, values=values)


def of_packages(wanted: Sequence[Wanted], nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield what installed packages lack themselves, and versions that differ between nodes."""
    lacking: dict[Broken, list[str]] = {}
    for node in nodes:
        for one in broken(wanted, node):
            lacking.setdefault(one, []).append(node.name)
    for one, names in lacking.items():
        there = f"and {one.version} is installed" if one.version else "which is not installed"
        text = f"{one.package} needs {one.requirement}, {there} {shown(names, len(nodes))}"
        values = {"package": one.package, "requirement": one.requirement, "installed": one.version}
        hint = f"pip install '{one.requirement}'"
        yield Finding("project.needs", "fault", text, hint, values={**values, "nodes": names})
    for name, versions in differing(wanted, nodes):
        told = ", ".join(f"{version} {shown(names)}" for version, names in versions.items())
        hint = f"install one version everywhere: pip install '{name}=={next(iter(versions))}'"
        text = f"{name} has different versions: {told}"
        yield Finding("project.differs", "warning", text, hint, values={"name": name, "versions": versions})


def of_workers(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Yield whether what runs on a cluster can travel between the nodes; the first node is here."""
    here = nodes[0]
    minor = {node.name: ".".join(node.python.split(".")[:2]) for node in nodes}
    other = [name for name, version in minor.items() if version != minor[here.name]]
    if other:
        told = ", ".join(sorted({minor[name] for name in other}))
        text = f"Python {minor[here.name]} here, {told} {shown(other)}: functions cannot be sent between them"
        hint = f"use Python {minor[here.name]} everywhere"
        yield Finding("workers.python", "fault", text, hint, values={"python": minor})
    else:
        text = f"Python {minor[here.name]} everywhere"
        yield Finding("workers.python", "ok", text, values={"python": minor})
    for name in (*ALIKE, "haulage"):
        versions: dict[str, list[str]] = {}
        for node in nodes:
            versions.setdefault(node.package(name) or "not installed", []).append(node.name)
        if len(versions) < 2:
            continue
        told = ", ".join(f"{version} {shown(names)}" for version, names in versions.items())
        wanted = here.package(name)
        hint = f"pip install '{name}=={wanted}' on each node" if wanted else f"install {name} here too"
        level: Level = "warning"
        text = f"{name} has different versions: {told}"
        if name == "haulage":
            text += "; haul cp --scheduler needs one version"
        yield Finding(f"workers.{name}", level, text, hint, values={"versions": versions})


def shown(names: Sequence[str], among: int = 0) -> str:
    """Return where something is so.

    >>> shown(["here"]), shown(["here", "n1"]), shown(["n1", "n2", "n3", "n4", "n5"], 45)
    ('here', 'here and on n1', 'on 5 of 45 nodes: n1, n2, n3, n4, ...')
    """
    if len(names) == among > 1:
        return "on any node"
    if len(names) > SHOWN:
        of = f" of {among}" if among else ""
        return f"on {len(names)}{of} nodes: {', '.join(names[:SHOWN])}, ..."
    others = [name for name in names if name != "here"]
    words = (["here"] if len(others) < len(names) else []) + ([f"on {', '.join(others)}"] if others else [])
    return " and ".join(words)
