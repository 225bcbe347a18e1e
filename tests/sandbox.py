"""Run a command where nothing of this machine can be written: `sandbox.py COMMAND [ARGUMENT...]`.

The command gets a mount namespace of its own. Every mount in it is read-only but one new, empty folder,
which `TMPDIR` and `HOME` name and which is removed afterwards, and a `/dev/shm` of its own; of `/dev` there
is only what programs need, no disk. So a test that deletes, attacks or is attacked costs nothing, even
where it runs as root.

Tests that must not run anywhere else call `require`, which looks at the mounts themselves.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: Names the only folder that may be written.
SCRATCH = "HAULAGE_SANDBOX"

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 0x2, 0x1000, 0x2000, 0x4000, 0x40000
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 0x1
#: The number of this call is the same on all machines.
MOUNT_SETATTR = 442
#: What programs expect of `/dev`: none of it keeps anything.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_libc = ctypes.CDLL(None, use_errno=True)


class NotContainedError(Exception):
    """Something of the machine could be written."""


def main() -> int:
    """Run the command line in a sandbox; return its exit code, or 97 where there can be no sandbox."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    if os.environ.get(SCRATCH):
        require()
        os.execvp(sys.argv[1], sys.argv[1:])
    scratch = Path(tempfile.mkdtemp(prefix="haulage-sandbox-")).resolve()
    try:
        child = os.fork()
        if child == 0:
            _become(scratch)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: os.kill(child, received))
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def require() -> Path:
    """Return the folder that may be written.

    Raises:
        NotContainedError: Anything else could be written too.
    """
    scratch = os.environ.get(SCRATCH)
    if not scratch:
        raise NotContainedError("not in a sandbox (hint: run it by `make test-hostile` or tests/sandbox.py)")
    allowed = [Path(scratch), Path("/dev/shm"), Path("/dev/pts"), *(Path("/dev") / name for name in DEVICES)]
    writable = [mount for mount in _writable() if not any(mount.is_relative_to(place) for place in allowed)]
    if writable:
        raise NotContainedError(f"these could be written: {', '.join(map(str, writable))}")
    for folder in ("/", "/etc", "/usr", str(Path(__file__).parent), "/root"):
        _refuses_writes(Path(folder))
    return Path(scratch)


def keep_only(folder: Path) -> None:
    """Let this process write below one folder of the sandbox alone, from now on."""
    _call("unshare", CLONE_NEWNS)
    _mount(str(folder), str(folder), "", MS_BIND)
    _read_only(str(require()), 0, True)


def _become(scratch: Path) -> None:
    """Turn this process into the command, contained; never returns."""
    try:
        _contain(scratch)
        require()
        os.execvp(sys.argv[1], sys.argv[1:])
    except (OSError, NotContainedError) as error:
        print(f"sandbox: {error}\nhint: it needs root, or user namespaces", file=sys.stderr)
    os._exit(97)


def _contain(scratch: Path) -> None:
    user, group = os.getuid(), os.getgid()
    _call("unshare", CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER)
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount("none", "/", "", MS_REC | MS_PRIVATE)
    for name in ("tmp", "home", "dev"):
        (scratch / name).mkdir()
    _mount(str(scratch), str(scratch), "", MS_BIND)
    _make_devices(scratch / "dev")
    _read_only("/", AT_RECURSIVE, True)
    for place in (scratch, Path("/dev/shm"), Path("/dev/pts")):
        _read_only(str(place), 0, False)
    os.environ |= {SCRATCH: str(scratch), "TMPDIR": str(scratch / "tmp"), "HOME": str(scratch / "home")}
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]


def _make_devices(folder: Path) -> None:
    """Put a new `/dev` in place of the machine's."""
    _mount("tmpfs", str(folder), "tmpfs", MS_NOSUID, "mode=755,size=64k")
    for name in DEVICES:
        (folder / name).touch()
        _mount(f"/dev/{name}", str(folder / name), "", MS_BIND)
    for name, target in {
        "fd": "/proc/self/fd",
        "stdin": "/proc/self/fd/0",
        "stdout": "/proc/self/fd/1",
        "stderr": "/proc/self/fd/2",
        "ptmx": "pts/ptmx",
    }.items():
        (folder / name).symlink_to(target)
    (folder / "shm").mkdir()
    _mount("tmpfs", str(folder / "shm"), "tmpfs", MS_NOSUID, "mode=1777")
    (folder / "pts").mkdir()
    _mount("devpts", str(folder / "pts"), "devpts", MS_NOSUID, "newinstance,ptmxmode=0666")
    _mount(str(folder), "/dev", "", MS_MOVE)


def _writable() -> Iterator[Path]:
    """Yield where mounts lie that may be written."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if "rw" in fields[5].split(","):
            yield Path(fields[4].encode().decode("unicode_escape"))


def _refuses_writes(folder: Path) -> None:
    probe = folder / f".haulage-sandbox-{os.getpid()}"
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENOENT, errno.EACCES):
            return
        raise
    probe.unlink()
    raise NotContainedError(f"{folder} could be written")


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def _read_only(path: str, flags: int, wanted: bool) -> None:
    attr = _MountAttr(*((MOUNT_ATTR_RDONLY, 0) if wanted else (0, MOUNT_ATTR_RDONLY)), 0, 0)
    _call(
        "syscall",
        ctypes.c_long(MOUNT_SETATTR),
        AT_FDCWD,
        path.encode(),
        ctypes.c_uint(flags),
        ctypes.byref(attr),
        ctypes.c_size_t(ctypes.sizeof(attr)),
    )


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", str(arguments[:2]))


if __name__ == "__main__":
    sys.exit(main())
