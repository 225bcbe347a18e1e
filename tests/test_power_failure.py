"""The power fails on a real ext4: what a move or a backup has taken from a service is on the disk.

What the disk would have is what its image holds at that moment: nothing that was only in memory. The image is
copied while the job stands still, and mounted, which replays its journal.
"""

from __future__ import annotations

import filecmp
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import HAUL, Haul, clean_environment, in_own_mounts
from conftest import StartEmulator
from endpoints import Container

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount an image"),
]

CONTENTS = {
    **{f"{number // 20}/{number}.nc": number.to_bytes(2) * (2_000 + number) for number in range(300)},
    "large.nc": bytes(range(256)) * 40_000,
}
SEED = 15
#: So many moments of a run are tried, beside its end.
MOMENTS = 24


class Disk:
    """An ext4 in a file, which writes by itself only after minutes."""

    def __init__(self, folder: Path) -> None:
        self.image, self.place = folder / "image", folder / "disk"
        self.place.mkdir()
        with self.image.open("wb") as file:
            file.truncate(96 << 20)
        subprocess.run(["mkfs.ext4", "-q", self.image], check=True)

    def start(self, line: list[str], env: dict[str, str], folder: Path) -> subprocess.Popen[bytes]:
        """Run a command that sees it; it stays there until the process is killed."""
        wrap = in_own_mounts(f"mount -o loop,commit=600 {self.image} {self.place}")
        waiting = ["sh", "-c", '"$@"; exec sleep 600', "sh"]
        return subprocess.Popen(
            [*wrap, *waiting, *line],
            env=env,
            cwd=folder,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def after_a_failure(self, folder: Path) -> dict[str, bytes]:
        """Return what would be there if the power failed now, by name below the folder of the job."""
        image, seen = folder / "failed", folder / "seen"
        # Until nothing was written meanwhile: parts of two moments would be no disk that ever was.
        for _ in range(20):
            shutil.copyfile(self.image, image)
            if filecmp.cmp(image, self.image, shallow=False):
                break
        else:
            pytest.fail("the image changes while nothing runs")
        wrap = in_own_mounts(f"mount -o loop {image} {self.place}")
        subprocess.run([*wrap, "cp", "-r", str(self.place), str(seen)], check=True)
        files = [path for path in (seen / "data").rglob("*") if path.is_file()]
        return {str(path.relative_to(seen / "data")): path.read_bytes() for path in files}


def lines(container: Container, folder: Path) -> dict[str, list[str]]:
    data, empty = folder / "disk" / "data", folder / "empty"
    empty.mkdir()
    (empty / "one").write_bytes(b"that an empty source deletes nothing is another test's")
    return {
        "move": ["mv", container.az("tree/"), f"{data}/"],
        "backup": ["sync", f"{empty}/", container.az("tree/"), "--delete", "--backup-dir", str(data)],
    }


def left(container: Container) -> set[str]:
    """Return which of the names are still in the service."""
    names = container.client.list_blob_names(name_starts_with="tree/")
    return CONTENTS.keys() & {name.removeprefix("tree/") for name in names}


@pytest.mark.parametrize("job", ["move", "backup"])
def test_what_is_gone_from_the_service_is_on_the_disk(
    job: str, haul: Haul, start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint, tree = start_emulator(link="rtt=20ms"), tmp_path / "tree"
    for name, content in CONTENTS.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    chance, took, gone = random.Random(SEED), 0.0, []
    for number in range(MOMENTS + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        container = endpoint.container()
        haul("cp", tree, container.az("tree/"), env=endpoint.env)
        disk, began = Disk(folder), time.monotonic()
        env = clean_environment(folder) | endpoint.env
        process = disk.start([str(HAUL), *lines(container, folder)[job]], env, folder)
        try:
            # The first one runs to its end, and says how long that takes. Every other one is met when names
            # have begun to go, as many go at once.
            if number % 2 == 0 and took:
                time.sleep(chance.uniform(0.5, 1) * took)
            else:
                wanted = len(CONTENTS) - 1 if took else 0
                while len(left(container)) > wanted:
                    assert time.monotonic() < began + 60
            took = took or time.monotonic() - began
            os.killpg(process.pid, signal.SIGSTOP)
            # What was sent arrives.
            time.sleep(0.2)
            there = left(container)
            kept = disk.after_a_failure(folder)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for name in CONTENTS.keys() - there:
            assert kept.get(name) == CONTENTS[name], f"{name} is lost in run {number}"
        gone.append(len(CONTENTS) - len(there))
        shutil.rmtree(folder)
    assert gone[0] == len(CONTENTS)
    assert any(0 < count < len(CONTENTS) for count in gone), f"no run was met midway: {gone}"
