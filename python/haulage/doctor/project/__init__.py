"""What a project needs, against what is installed here and on every node of a cluster.

Needs the extra: ``pip install 'haulage[doctor]'``; for a cluster ``haulage[cluster]`` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haulage.doctor.finding import Finding, by_error
from haulage.errors import missing_package
from haulage.words.numbers import counted

if TYPE_CHECKING:
    from haulage.doctor.asking import Answer
    from haulage.doctor.project.comparing import Node

#: How long the nodes may take by default: the client that asks them has to be imported first.
NODES_S = 30.0


class ProjectExamination:
    """One examination of a project; ``corrected`` is there when all findings were made.

    Args:
        file: ``requirements.txt``, ``pyproject.toml`` or ``environment.yml``.
        ask: What asks a question, within a time that is given in seconds.
        timeout_s: For each question.
        scheduler: Address of a cluster's scheduler; default: this Python alone.
        scheduler_file: The file that the scheduler has written, in place of that.
        text: What the file holds, where somebody sent it; then nothing is read from the disk.
    """

    def __init__(
        self,
        file: Path,
        ask: Callable[..., Answer],
        timeout_s: float,
        scheduler: str | None,
        scheduler_file: str | None,
        text: str | None = None,
    ) -> None:
        self.file, self.ask, self.timeout_s = file, ask, timeout_s
        self.scheduler, self.scheduler_file = scheduler, scheduler_file
        self.text = text
        self.corrected: str | None = None

    def run(self) -> Iterator[Finding]:
        """Yield findings.

        Raises:
            NotFoundError: The file is not there.
            UsageError: It lists nothing that a project needs.
            UnsupportedError: A package is missing that reads it.
        """
        try:
            from haulage.doctor.project import findings
            from haulage.doctor.project.comparing import changes
            from haulage.doctor.project.reading import parse, read

            source = read(self.file) if self.text is None else parse(self.file, self.text, alone=True)
        except ModuleNotFoundError as error:
            raise missing_package("read", str(self.file), error.name, "doctor") from None
        yield from findings.of_source(source)
        answer = self.ask("inventory_here", self.timeout_s)
        if answer.error is not None:
            yield by_error("project.packages", answer.error)
            return
        nodes = [_node("here", answer.value)]
        modules = answer.value["modules"]
        if self.scheduler is not None or self.scheduler_file is not None:
            yield from self._ask_nodes(nodes)
            yield from findings.of_workers(nodes) if len(nodes) > 1 else ()
        wanted = source.wanted
        yield from findings.of_requirements(wanted, nodes, modules)
        yield from findings.of_packages(wanted, nodes)
        names = {one.name: findings.packages_of(one.name, modules) for one in wanted}
        changed = changes(wanted, nodes, {name: package for name, package in names.items() if package})
        self.corrected = source.corrected(changed)

    def _ask_nodes(self, nodes: list[Node]) -> Iterator[Finding]:
        answer = self.ask(
            "inventory_of_nodes",
            self.timeout_s,
            scheduler=self.scheduler,
            scheduler_file=self.scheduler_file,
        )
        if answer.error is not None:
            yield by_error("workers.reached", answer.error)
            return
        told = {address: one for address, one in answer.value.items() if "error" not in one}
        for address, one in answer.value.items():
            if "error" in one:
                hint = "check the log of this worker"
                yield Finding("workers.reached", "warning", f"{address}: {one['error']}", hint)
        if not answer.value:
            hint = "start workers: dask worker ADDRESS"
            yield Finding("workers.reached", "warning", "the cluster has no workers", hint)
            return
        named = list(_named(told))
        nodes += named
        hosts = len({one["host"] for one in told.values()})
        text = f"asked {counted(len(told), 'worker')} on {counted(hosts, 'machine')}"
        yield Finding("workers.reached", "ok", text, values={"nodes": [node.name for node in named]})


def _named(told: dict[str, dict[str, Any]]) -> Iterator[Node]:
    """Yield a node for all workers of a machine that have the same installed, by the name of the machine."""
    alike: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for address, one in told.items():
        of_host = alike.setdefault(one["host"], [])
        if not any(_same(one, other) for _, other in of_host):
            of_host.append((address, one))
    for host, several in alike.items():
        for address, one in several:
            yield _node(host if len(several) == 1 else address, one)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(one[name] == other[name] for name in ("executable", "packages", "conda"))


def _node(name: str, told: dict[str, Any]) -> Node:
    from haulage.doctor.project.comparing import Node

    return Node(name, told)
