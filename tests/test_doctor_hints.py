"""Every hint of `haul doctor` about this machine and a copy, each reached by what calls for it."""

from __future__ import annotations

import errno
import resource
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from doctor_asked import HUNG, Asked, said
from haulage.doctor import asking, cli, credentials, machine
from haulage.doctor.asking import Answer, ask
from haulage.doctor.disks import examine_disk
from haulage.doctor.job import examine_job
from haulage.doctor.versions import examine_versions
from haulage.errors import LocalIOError
from sentences import Sentence

GIB = 1 << 30

# Disks.

DISK = {
    "path": "/data/x",
    "folder": "/data",
    "exists": True,
    "kind": "ext4",
    "free_bytes": 10 * GIB,
    "size_bytes": 20 * GIB,
    "free_inodes": 10_000,
    "inodes": 20_000,
    "read_only": False,
    "readable": True,
    "why_not": None,
    "write_bytes_per_second": 1e9,
}


@pytest.mark.parametrize(
    ("differs", "writes"),
    [
        ({"free_bytes": 0}, True),
        ({"free_bytes": 2 << 20}, True),
        ({"free_inodes": 3}, True),
        ({"read_only": True}, True),
        ({"why_not": "no", "errno": errno.EACCES}, True),
        ({"why_not": "no", "errno": errno.EDQUOT}, True),
        ({"why_not": "no", "errno": errno.EIO}, True),
        ({"write_bytes_per_second": 1e6}, True),
        ({"exists": False}, False),
        ({"readable": False}, False),
    ],
)
def test_disk(differs: dict[str, Any], writes: bool, sentence: Sentence) -> None:
    findings, _ = examine_disk(Asked(disk={**DISK, **differs}), "/data/x", writes)
    sentence(said(findings))


def test_disk_that_hangs(sentence: Sentence) -> None:
    findings, _ = examine_disk(Asked(disk=HUNG), "/data/x", writes=True)
    sentence(said(findings))


# A copy.


@pytest.mark.parametrize(
    ("counted", "kind"),
    [
        ({"unreadable": 2}, "ext4"),
        ({"objects": 0, "bytes": 0}, "ext4"),
        ({"bytes": 99 * GIB}, "ext4"),
        ({"objects": 50_000}, "ext4"),
        ({"largest_bytes": 5 * GIB}, "vfat"),
    ],
)
def test_copy(counted: dict[str, int], kind: str, sentence: Sentence) -> None:
    all_of_it = {"objects": 5, "bytes": GIB, "largest_bytes": 1, "unreadable": 0, **counted}
    asked = Asked(disk={**DISK, "kind": kind}, count_local=all_of_it)
    local = {"service": "local"}
    sentence(said(examine_job(asked, "a", "b", (local, local), {})))


def test_a_count_that_takes_too_long(sentence: Sentence) -> None:
    known = {"objects": 5, "bytes": 9, "largest_bytes": 1, "unreadable": 0}
    asked = Asked(count=Answer(error=HUNG.error, partial=[known]))
    ways = {"service": "azure"}, {"service": "s3"}
    sentence(said(examine_job(asked, "az://a", "s3://b", ways, {})))


# This machine.


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Where `proc` and `sys` are those of a machine with nothing to say about."""
    files = {
        "proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n",
        "proc/self/cgroup": "0::/job\n",
        "proc/sys/net/ipv4/tcp_congestion_control": "bbr\n",
        "proc/sys/net/ipv4/tcp_available_congestion_control": "bbr cubic\n",
        "proc/sys/net/ipv4/tcp_rmem": "4096 87380 33554432\n",
        "proc/sys/net/ipv4/tcp_wmem": "4096 87380 33554432\n",
        "sys/fs/cgroup/job/cpu.max": "max 100000\n",
        "sys/class/net/eth0/mtu": "1500\n",
        "sys/class/net/eth0/operstate": "up\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sys/class/net/eth0/mtu", "600\n"),
        ("sys/class/net/eth0/operstate", "down\n"),
        ("sys/fs/cgroup/job/cpu.max", "50000 100000\n"),
        ("proc/meminfo", "MemTotal: 100000 kB\nMemAvailable: 50000 kB\n"),
        ("proc/meminfo", "MemTotal: 900000 kB\nMemAvailable: 600000 kB\n"),
        ("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n"),
        ("proc/sys/net/ipv4/tcp_rmem", "4096 87380 200000\n"),
    ],
)
def test_machine(name: str, text: str, tree: Path, sentence: Sentence) -> None:
    quiet = said(machine.examine_machine(tree))
    (tree / name).write_text(text)
    told = [one for one in said(machine.examine_machine(tree)) if one not in quiet]
    sentence(told)


@pytest.mark.parametrize(
    ("limit", "numbers"),
    [
        ("NOFILE", (64, 8192)),
        ("NOFILE", (64, 64)),
        ("NPROC", (30, 30)),
        ("FSIZE", (1 << 20, 1 << 20)),
    ],
)
def test_limits(
    limit: str, numbers: tuple[int, int], tree: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    without = resource.RLIM_INFINITY
    limits = {getattr(resource, f"RLIMIT_{limit}"): numbers}
    monkeypatch.setattr(resource, "getrlimit", lambda name: limits.get(name, (without, without)))
    sentence(said(machine.examine_machine(tree)))


def test_another_system(tree: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence) -> None:
    monkeypatch.setattr("platform.system", lambda: "Plan9")
    sentence(said(machine.examine_machine(tree)))


def test_an_extra_that_is_not_whole(monkeypatch: pytest.MonkeyPatch, sentence: Sentence) -> None:
    wanted = ["no-such-package>=1; extra == 'sea'"]
    monkeypatch.setattr("haulage.doctor.versions.metadata.requires", lambda _: wanted)
    sentence(said(examine_versions()))


def test_extras_are_those_that_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    # As a wheel states them.
    asked = [f"{name} ; extra == '{extra}'" for extra, names in extras.items() for name in names]
    monkeypatch.setattr("haulage.doctor.versions.metadata.requires", lambda _: asked)
    (found,) = [one for one in examine_versions() if one.check == "versions.extras"]
    assert {*found.values["whole"], *found.values["missing"]} == extras.keys() - {"dev", "test"}
    # An extra that names others is whole if they are.
    asked.append("no-such-package>=1 ; extra == 'watch'")
    (found,) = [one for one in examine_versions() if one.check == "versions.extras"]
    assert found.values["missing"].keys() >= {"all", "watch"}
    assert found.values["missing"]["all"].count("no-such-package") == 1


def test_versions_of_packages_by_the_names_that_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"numpy": "2.4.1", "scitools-iris": "3.14"}

    def version(name: str) -> str:
        if name not in there:
            raise metadata.PackageNotFoundError(name)
        return there[name]

    monkeypatch.setattr("haulage.doctor.versions.metadata.version", version)
    (found,) = [one for one in examine_versions() if one.check == "versions.packages"]
    assert found.values["packages"] == {"numpy": "2.4.1", "iris": "3.14"}
    there.clear()
    (found,) = [one for one in examine_versions() if one.check == "versions.packages"]
    assert "none" in found.text


def test_who_has_no_credentials_can_try_it_here(tmp_path: Path, sentence: Sentence) -> None:
    sentence(said(credentials.examine_found({"HOME": str(tmp_path)}, new=True)))
    assert said(credentials.examine_found({"HOME": str(tmp_path)})) == []
    some = {"HOME": str(tmp_path), "AZURE_STORAGE_ACCOUNT": "a"}
    assert said(credentials.examine_found(some, new=True)) == []


def test_a_process_that_cannot_be_started_or_ends_by_itself(
    monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    def none_left(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    answer = asking._read("resolve", b"", hung=False, timeout_s=5.0, code=-9)
    assert answer.error is not None
    sentence(answer.error.hint)
    monkeypatch.setattr("subprocess.Popen", none_left)
    answer = ask("resolve", 5.0, host="localhost", port=1)
    assert answer.error is not None
    sentence(answer.error.hint)


def test_a_page_that_cannot_be_written(tmp_path: Path, sentence: Sentence) -> None:
    with pytest.raises(LocalIOError) as refused:
        cli._write("the page", tmp_path / "none/page.html", "<!doctype html>", quiet=True)
    sentence(refused.value)
