"""The .deb and the .rpm on machines without compilers: they install, work, and leave nothing behind."""

from __future__ import annotations

import pytest

from haulage import __version__
from packages import jobs
from packages.machine import PACKAGES, Machine

pytestmark = [pytest.mark.packages, pytest.mark.timeout(600)]

#: A line of each.
IN_PYTHON = ("doctor", "index a", "lab plans", "table plan a", "view a", "watch a", "why a")


def install(machine: Machine) -> None:
    machine("command -v haul || dpkg --install /packages/haulage_*.deb")


@pytest.mark.parametrize("suite", ["bookworm", "bullseye"])
def test_the_deb_does_the_main_job(suite: str, request: pytest.FixtureRequest) -> None:
    machine: Machine = request.getfixturevalue(suite)
    jobs.has_no_compilers(machine)
    install(machine)
    assert machine("haul --version").out == f"haul {__version__}\n"
    assert "Examples:" in machine("haul --help").out
    jobs.main_job(machine)
    jobs.stop_and_resume(machine)


def test_the_oldest_has_no_python(bullseye: Machine) -> None:
    install(bullseye)
    assert bullseye("command -v python3", code=None).out == ""
    assert "2.31" in bullseye("ldd --version").out
    assert "not found" not in bullseye("ldd /usr/bin/haul").out


@pytest.mark.parametrize("line", IN_PYTHON)
def test_commands_of_the_python_package_say_how_to_have_them(bullseye: Machine, line: str) -> None:
    install(bullseye)
    said = bullseye(["haul", *line.split()], code=2).err
    command = line.removesuffix(" a")
    assert said.startswith(f"haul: start {command}: this needs the Python package (hint: ")
    assert 'pip install "$(echo ./haulage-*.whl)[' in said
    for words in ([*command.split(), "--help"], ["help", *command.split()]):
        shown = bullseye(["haul", *words]).out
        assert shown.rstrip().endswith(']"'), shown
        assert f"haul {command} comes with the Python package" in shown


def test_manual_pages_are_found_and_warn_of_nothing(bookworm: Machine) -> None:
    install(bookworm)
    assert "haul-cp(1)" in bookworm("man -P cat haul").out
    cp = bookworm("MANWIDTH=100 man -P cat haul-cp").out
    for text in ("--block-size", "EXAMPLES", "EXIT STATUS"):
        assert text in cp
    assert "--continue" in bookworm("man -P cat haul-lab-run").out
    assert "haul-cp (1)" in bookworm("mandb -q; apropos -s 1 haul-cp").out
    pages = bookworm("ls /usr/share/man/man1/haul*").out.split()
    assert len(pages) > 40, pages
    for page in pages:
        said = bookworm(f"man --warnings -l -P cat {page} >/dev/null").err
        assert said == "", f"{page}: {said}"


BASH = """
. /usr/share/bash-completion/bash_completion
offered() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMPREPLY=()
    declare -F _haul >/dev/null || _completion_loader haul || true
    _haul haul "${@: -1}" "${@: -2:1}"
    echo "${COMPREPLY[@]}"
}
offered haul ve
offered haul lab ru
offered haul lab run --repl
offered haul cp --block
"""


ZSH = """
fpath=(/usr/share/zsh/site-functions $fpath)
autoload -U compinit && compinit -u -d /tmp/z
[[ $_comps[haul] == _haul ]] && autoload +X _haul && functions _haul
"""


def test_completions_load_in_three_shells(bookworm: Machine) -> None:
    install(bookworm)
    assert bookworm(["bash", "-c", BASH]).out.split("\n")[:4] == [
        "verify",
        "run",
        "--replicates",
        "--block-size",
    ]
    for line, offered in [
        ("haul ve", "verify"),
        ("haul lab ru", "run"),
        ("haul lab run --repl", "--replicates"),
    ]:
        assert offered in bookworm(["fish", "-c", f"complete --do-complete='{line}'"]).out, line
    assert "lab" in bookworm(["zsh", "-fc", ZSH]).out
    assert bookworm("zsh -n /usr/share/zsh/site-functions/_haul").err == ""


def test_licences_come_along(bookworm: Machine) -> None:
    install(bookworm)
    kept = bookworm("ls /usr/share/doc/haulage").out.split()
    assert {"LICENSE", "THIRD-PARTY-NOTICES", "changelog.gz", "copyright"} <= set(kept)
    notices = bookworm("cat /usr/share/doc/haulage/THIRD-PARTY-NOTICES").out
    for work in ("rustls", "ring", "uPlot", "mimalloc"):
        assert work in notices


def test_removing_it_leaves_nothing(bookworm: Machine) -> None:
    install(bookworm)
    bookworm("dpkg --verify haulage")
    files = bookworm("dpkg --listfiles haulage").out.split()
    bookworm("dpkg --purge haulage")
    left = bookworm(
        "for f in " + " ".join(files) + '; do [ ! -f "$f" ] || echo "$f"; done; ls -d /usr/share/doc/haulage',
        code=None,
    )
    assert left.out == ""


def test_the_rpm_installs_the_same_files(bookworm: Machine) -> None:
    bookworm(
        "mkdir -p /r && rpm --root /r --initdb && rpm --root /r --install --nodeps /packages/haulage-*.rpm"
    )
    said = bookworm("rpm --root /r --query --info haulage").out
    assert __version__ in said
    assert "Apache-2.0" in said
    bookworm("rpm --root /r --verify --nodeps haulage")
    assert bookworm("rpm --root /r --query --requires haulage").out.startswith("glibc >= 2.17")
    listed = bookworm("rpm --root /r --query --list haulage; true").out.split()
    deb = bookworm("dpkg-deb --fsys-tarfile /packages/haulage_*.deb | tar -t").out.split()
    # It owns this folder, so that erasing it leaves none.
    assert "/usr/share/doc/haulage" in listed
    assert {name for name in listed if "/licenses/" not in name and name != "/usr/share/doc/haulage"} == {
        name.removeprefix(".") for name in deb if not name.endswith("/")
    }
    assert bookworm("/r/usr/bin/haul --version").out == f"haul {__version__}\n"
    bookworm("rpm --root /r --erase haulage")
    assert bookworm("find /r -path /r/var -prune -o -name '*haul*' -print").out == ""


def test_the_archive_is_complete(bullseye: Machine) -> None:
    bullseye("mkdir /a && tar -xzf /packages/haulage-*.tar.gz -C /a --strip-components=1")
    names = bullseye("cd /a && find . -type f | sort").out
    for name in ("./haul", "./share/man/man1/haul-cp.1", "./share/zsh/site-functions/_haul", "./LICENSE"):
        assert f"{name}\n" in names
    jobs.main_job(bullseye, path="/a")
    assert "SHA256SUMS" not in bullseye("cd /packages && sha256sum --check SHA256SUMS").err
    assert (PACKAGES / "RELEASE-NOTES.md").stat().st_size > 100
