"""What the demo does, as a person does it with the installed command."""

from __future__ import annotations

from packages.machine import Machine

COMPILERS = ("cc", "gcc", "c++", "clang", "rustc", "cargo", "make", "go", "zig")
#: Up, proven, up again (nothing is sent), down, proven, and compared by something that is not ours.
MAIN_JOB = """
haul mb -q az://demo
haul cp -q /data az://demo/climate
haul verify -q /data az://demo/climate
haul cp --json /data az://demo/climate | tail -n 1 | grep -q '"objects_skipped":172'
haul cp -q az://demo/climate back
haul verify -q /data back
diff -r /data back
haul ls -r az://demo/climate | wc -l
"""
#: Stopped by Ctrl-C on a slow link, and continued.
STOPPED = """
haul mb -q az://demo
head -c 20000000 /dev/urandom >file.bin
code=0
timeout --foreground --preserve-status -s INT 1.5 haul cp -q file.bin az://demo/ 2>said || code=$?
cat said
grep -q 'run the same command again' said
haul cp -q file.bin az://demo/
haul verify -q file.bin az://demo/file.bin
test "$code" = 130
"""


def has_no_compilers(machine: Machine) -> None:
    """Make sure that nothing could be compiled."""
    for name in COMPILERS:
        assert machine(f"command -v {name}", code=None).out == "", name


def main_job(machine: Machine, path: str = "") -> None:
    """Move the climate files over an emulated link and back; prove it three ways."""
    machine("rm -rf /job && mkdir /job")
    env = {"PATH": f"{path}:{machine.environment['PATH']}"} if path else {}
    line = ["haul", "emulate", "-q", "--listen", "127.0.0.1:0", "--link", "rtt=20ms,total=1gbit", "--"]
    ran = machine([*line, "sh", "-euc", MAIN_JOB], cwd="/job", env=env)
    assert ran.out.split()[-1] == "172", ran.out


def stop_and_resume(machine: Machine) -> None:
    """Stop a copy by Ctrl-C, run it again."""
    machine("rm -rf /job && mkdir /job")
    line = ["haul", "emulate", "-q", "--listen", "127.0.0.1:0", "--link", "rtt=20ms,total=40mbit", "--"]
    machine([*line, "sh", "-euc", STOPPED], cwd="/job")
