"""What a name means: nothing, a local path, a store, a container, all of an account; and what may be done to
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

import endpoints
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import Container, Endpoint
from hostile.trees_ground import Entry, snapshot
from hostile.trees_runs import run

#: Stands for a blob, a container and a file that are there.
BLOB, CONTAINER, FILE = "{blob}", "{container}", "tree/file"


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    container = emulator.container()
    container.client.upload_blob("x", b"content")
    return container


class Ground:
    """A folder that is all that the command may write, and what is in it, beside it, and at the service."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        self.endpoint, self.service = endpoint, endpoint.service
        self.container, self.other = endpoint.container(), endpoint.container()
        for container in (self.container, self.other):
            container.client.upload_blob("x", b"content")
        self.folder, self.here = folder / "ground", folder / "ground" / "here"
        trees.make(self.here / "tree", files=3, awkward=False)
        (self.here / "tree" / "file").write_bytes(b"content")
        trees.make(self.folder / "beside", files=3, awkward=False)
        self.haul = Haul(self.here, endpoint.env)
        self.before = self.now()

    def now(self) -> tuple[dict[str, Entry], dict[str, list[str]]]:
        clients = [self.service.get_container_client(found.name) for found in self.service.list_containers()]
        blobs = {client.container_name: list(client.list_blob_names()) for client in clients}
        return snapshot(self.folder), blobs

    def refuse(self, lines: Iterable[Sequence[str]], hint: bool = True) -> None:
        """Fail unless the command refuses each of these lines as wrong usage and changes nothing."""
        names = {BLOB: self.container.az("x"), CONTAINER: self.container.az("")}
        wrong, said = [], []
        for line in lines:
            words = [names.get(word, word) for word in line]
            ran = run(self.haul, *words, codes=range(256), only=True, timeout=8)
            said.append(f"{words} ended with {ran.code}: {ran.said[:200]!r}")
            if ran.code != 2 or (hint and not ran.has_hint):
                wrong.append(said[-1])
        assert self.now() == self.before, "one of these changed something:\n" + "\n".join(said)
        assert not wrong, "\n".join(wrong)

    def refuse_names(self, line: str, names: Iterable[str], hint: bool = True) -> None:
        """The same for a line in which `@` is each of these names, or that ends with it."""
        words = line.split() if "@" in line else [*line.split(), "@"]
        self.refuse(([name if word == "@" else word for word in words] for name in names), hint)


@pytest.fixture(scope="module")
def shared_ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("meaning")
    with endpoints.emulator(folder) as endpoint:
        yield Ground(folder, endpoint)


@pytest.fixture
def ground(shared_ground: Ground) -> Ground:
    """The ground as it is now: a test that failed may have changed it."""
    shared_ground.before = shared_ground.now()
    return shared_ground


EMPTY: tuple[tuple[str, ...], ...] = (
    ("rb", "--force", ""),
    ("rb", ""),
    ("rm", "-r", ""),
    ("rm", ""),
    ("rm", "-r", BLOB, ""),
    ("mb", ""),
    ("clean", ""),
    ("clean", "--dry-run", ""),
    ("cp", "", CONTAINER),
    ("cp", CONTAINER, ""),
    ("cp", BLOB, ""),
    ("cp", "-", ""),
    ("cp", FILE, "", CONTAINER),
    ("verify", "", CONTAINER),
    ("verify", CONTAINER, ""),
    ("plan", "", CONTAINER),
    ("plan", CONTAINER, ""),
    ("ls", ""),
    ("ls", "-r", ""),
    ("du", ""),
    ("du", CONTAINER, ""),
    ("stat", ""),
    ("cat", ""),
    ("cat", BLOB, ""),
)


@pytest.mark.parametrize("verb", sorted({line[0] for line in EMPTY}))
def test_an_empty_name_is_refused(verb: str, ground: Ground) -> None:
    """An empty name for any verb, in any place: refused (2); it is neither `/` nor the current folder."""
    ground.refuse((line for line in EMPTY if line[0] == verb), hint=False)


@pytest.mark.parametrize(
    "option",
    ["record", "receipt", "include", "exclude", "profile", "endpoint", "cap", "block-size", "symlinks"],
)
def test_an_empty_value_is_refused(option: str, ground: Ground) -> None:
    """An empty value of any option: refused (2)."""
    ground.refuse(("cp", "tree", CONTAINER, *words) for words in ([f"--{option}="], [f"--{option}", ""]))


LOCAL = ("/", "//", ".", "..", "./", "tree", "tree/", FILE, "../beside", "*", "~", "none")
REMOVING = ("rb", "rm", "rm -r --dry-run", "rb --dry-run")


@pytest.mark.parametrize("line", ["rm -r", "rb --force", "mb"])
def test_verbs_for_stores_refuse_local_paths(line: str, ground: Ground) -> None:
    """`rm`, `rb` and `mb` of a local path: refused (2) with a hint; files and folders stay."""
    ground.refuse_names(line, LOCAL)
    # Not even after a name that may be removed, and however it is asked.
    ground.refuse([(*line.split(), BLOB, "tree")])
    ground.refuse([(*verb.split(), "tree") for verb in REMOVING], hint=False)


ACCOUNT = ("az://", "AZ://", "az:///", "az:////", "az:///x", "{url}", "{url}/", "{url}//")


DOING = [
    "rm -r",
    "rb --force",
    "cp tree",
    "rm",
    "rm -r --dry-run",
    "rb",
    "mb",
    "clean",
    "cat",
    "stat",
    "cp tree/file",
]
DOING += ["cp -", "cp @ back", "verify tree", "verify @ tree", "plan tree", "plan @ back"]


@pytest.mark.parametrize("line", DOING)
def test_an_account_is_no_target(line: str, ground: Ground) -> None:
    """The account root, in any spelling, for any verb but `ls` and `du`: refused (2)."""
    names = [name.format(url=ground.endpoint.url) for name in ACCOUNT]
    ground.refuse_names(line, names if line in DOING[:3] else names[:1], hint=False)


def test_an_account_counts_all_its_containers(start_emulator: StartEmulator, tmp_path: Path) -> None:
    """`du az://`: all objects of all containers; `ls az://`: the containers."""
    endpoint = start_emulator()
    haul = Haul(tmp_path, endpoint.env)
    assert run(haul, "du", "az://", "--json").events[0]["objects"] == 0
    for number in range(3):
        container = endpoint.container()
        container.client.upload_blob("a", bytes(1000 * (number + 1)))
        container.client.upload_blob("folder/b", bytes(10))
    for name in ("az://", "AZ://", endpoint.url, endpoint.url + "/"):
        told = run(haul, "du", name, "--json").events
        assert sum(line["objects"] for line in told) == 6
        assert sum(line["size_bytes"] for line in told) == 6030
        assert len(run(haul, "ls", name).text.splitlines()) == 3


SCHEMES = (
    "az:demo/x",
    "az:/demo/x",
    "AZ:demo/x",
    "az:",
    "s3:bucket/key",
    "gs://bucket/key",
    "abfs:x",
    "abfss://c@host/x",
    "wasbs://c@account.blob.core.windows.net/x",
    "http:x",
    "https:/host/c/x",
    "ftp://host/x",
    "file:x",
    "a+b-c.d:x",
    "mem:x",
)


USING = ("cp tree/file", "mb", "cp tree", "cp @ back", "rm -r", "ls", "verify tree", "clean")


@pytest.mark.parametrize("line", USING)
def test_what_looks_like_a_scheme_is_no_local_path(line: str, ground: Ground) -> None:
    """`az:demo/x` and anything else that begins like a scheme: refused (2) with a hint; no folder is made."""
    ground.refuse_names(line, SCHEMES if line in USING[:2] else SCHEMES[:1])


@pytest.mark.parametrize("option", ["--record", "--receipt"])
def test_what_looks_like_a_scheme_is_no_output(option: str, ground: Ground) -> None:
    """`--record az://c/x` and `--receipt -`: refused (2); no file of such a name is made."""
    ground.refuse(
        ("cp", "tree", CONTAINER, option, name) for name in (CONTAINER, BLOB, *SCHEMES[:6], "s3://b/k", "-")
    )


@pytest.mark.parametrize("name", ["", "az://c", "az:c", "s3://b"])
def test_what_looks_like_a_scheme_is_no_store_of_the_emulator(name: str, ground: Ground) -> None:
    """`emulate --store az://c`, or of an empty name: refused (2); no such folder is made."""
    ground.refuse([("emulate", "--listen", "127.0.0.1:0", "--store", name)], hint=False)


def test_a_path_with_a_colon_can_be_written(haul: Haul, container: Container, tmp_path: Path) -> None:
    """`./az:x`, `dir/az:x` and absolute paths: local, whatever their names."""
    (tmp_path / "az:x").write_bytes(b"colon")
    for name in ("./az:x", tmp_path / "az:x", f"../{tmp_path.name}/az:x"):
        run(haul, "cp", name, container.az("y"), "--overwrite", "always")
    assert container.contents()["y"] == b"colon"
    run(haul, "cp", container.az("x"), "./s3:x")
    assert (tmp_path / "s3:x").read_bytes() == b"content"
    run(haul, "ls", "./")


@pytest.mark.parametrize("scheme", ["AZ", "Az", "aZ"])
def test_schemes_are_the_same_in_any_case(scheme: str, haul: Haul, container: Container) -> None:
    """`AZ://c/x`: the same as `az://c/x`."""
    name = f"{scheme}://{container.name}/"
    run(haul, "cp", name + "x", "back")
    run(haul, "cp", "back", name + "y")
    run(haul, "ls", name).says("x", "y")
    run(haul, "rm", name + "x")
    assert container.contents() == {"y": b"content"}


DOTTED = ("../{d}", "../{d}/x", "./x", "a/../x", "a/..", "..", ".", "a/./b", "a/../../{d}/")
REACHING = ("rm -r", "rm", "ls -r", "du", "cp tree", "cp tree/file", "cp @ back", "clean")


@pytest.mark.parametrize("line", REACHING)
def test_names_with_dots_are_refused(line: str, ground: Ground) -> None:
    """Keys with a `.` or `..` segment, also as `%2e%2e` in a URL: refused (2), and they lead nowhere else."""
    keys = [name.format(d=ground.other.name) for name in DOTTED]
    names = [ground.container.az(key) for key in keys]
    escaped = [ground.container.url(key.replace(".", "%2e")) for key in keys[:2]]
    every = [*names, *escaped, ground.container.url(keys[0])]
    ground.refuse_names(line, every if line == REACHING[0] else [names[0], escaped[0]], hint=False)


def test_names_with_nul_are_refused(ground: Ground) -> None:
    """`%00` in a URL: refused (2)."""
    for line in ("rm -r", "ls", "cp tree/file", "cp @ back"):
        ground.refuse_names(line, [ground.container.url("a%00b"), ground.container.url("%00")], hint=False)
