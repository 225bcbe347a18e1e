"""SLURM and sshd, started by hand where nothing of the machine is changed: in `scripts/own-machine.sh`.

All write into the folder that they are given, and end with that machine at the latest.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

#: Where SLURM's programs look for it.
MUNGE_SOCKET = "/run/munge/munge.socket.2"

SLURM_CONF = """\
ClusterName=haulage
SlurmctldHost=head
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm(folder: Path, nodes: int) -> Iterator[dict[str, str]]:
    """SLURM with nodes `node1` and on, each of two processors; what to add to the environment is returned."""
    folder.mkdir(mode=0o700)
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    names = [f"node{number + 1}" for number in range(nodes)]
    lines = [
        f"NodeName={name} NodeHostname=head NodeAddr={name} Port={7000 + number} CPUs=2 RealMemory=4000"
        for number, name in enumerate(names)
    ]
    configuration = folder / "slurm.conf"
    configuration.write_text(SLURM_CONF.format(folder=folder, nodes="\n".join(lines)))
    environment = os.environ | {"SLURM_CONF": str(configuration)}
    for name in names:
        (folder / f"spool-{name}").mkdir()
    munged = ["munged", "--foreground", f"--key-file={key}", f"--socket={MUNGE_SOCKET}"]
    munged += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "seed", "log")]
    with ExitStack() as stack:

        def start(name: str, *line: str) -> None:
            stack.enter_context(_running(line, folder / f"{name}.log", environment))

        start("munge", *munged)
        _until(Path(MUNGE_SOCKET).exists, "munged has no socket", folder)
        start("slurmctld", "slurmctld", "-D")
        for name in names:
            start(f"slurmd-{name}", "slurmd", "-D", "-N", name)
        _until(lambda: _idle(environment) == nodes, "the nodes are not there", folder)
        yield {"SLURM_CONF": str(configuration)}


@contextmanager
def sshd(folder: Path, home: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """An sshd at port 22 of all five names, with a key in this home that it takes, and known hosts.

    What logs in by it finds that environment.
    """
    folder.mkdir(mode=0o700)
    settings = home / ".ssh"
    settings.mkdir(mode=0o700)
    for key in (folder / "host_key", settings / "id_ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = folder / "authorized_keys"
    allowed.write_bytes((settings / "id_ed25519.pub").read_bytes())
    host = (folder / "host_key.pub").read_text()
    (settings / "known_hosts").write_text(f"head,node1,node2,node3,node4 {host}")
    words = " ".join(f'"{name}={value}"' for name, value in environment.items())
    configuration = folder / "sshd_config"
    configuration.write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {allowed}\nSetEnv {words}\nPidFile none\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
    )
    line = ["/usr/sbin/sshd", "-D", "-e", "-f", str(configuration)]
    with _running(line, folder / "sshd.log", os.environ):
        asked = ["ssh-keyscan", "-t", "ed25519", "head"]
        _until(lambda: b"ed25519" in subprocess.run(asked, capture_output=True).stdout, "no sshd", folder)
        yield


def _idle(environment: Mapping[str, str]) -> int:
    """Count the nodes that could take a job."""
    asked = ["sinfo", "--noheader", "--Node", "--states", "idle"]
    return len(subprocess.run(asked, env=environment, capture_output=True, text=True).stdout.splitlines())


@contextmanager
def _running(line: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(line, env=environment, stdout=file, stderr=file)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(there: Callable[[], bool], what: str, folder: Path) -> None:
    end = time.monotonic() + 30
    while not there():
        if time.monotonic() > end:
            said = [path.read_text(errors="replace")[-1000:] for path in folder.glob("*.log")]
            raise TimeoutError("\n".join([what, *said]))
        time.sleep(0.1)
