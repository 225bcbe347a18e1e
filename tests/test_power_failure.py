"""The power fails on a real ext4: what a move or a backup has taken from a service is on the disk.

What the disk would have is what its image holds at that moment: nothing that was only in memory. The image is
copied while the job stands still, and mounted, which replays its journal.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from command import HAUL, clean_environment, in_own_mounts
from conftest import StartEmulator
from endpoints import Container

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount an image"),
]

CONTENTS = {f"{number // 20}/{number}.nc": bytes([number]) * (10_000 + number) for number in range(60)} | {
    "large.nc": bytes(range(256)) * 40_000
}
SEED = 15
#: The moments are spread over a run, which takes about so many seconds; the last ones are after it.
MOMENTS = [0.1 + 0.05 * number for number in range(24)]


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
        shutil.copyfile(self.image, image)
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


@pytest.mark.parametrize("job", ["move", "backup"])
def test_what_is_gone_from_the_service_is_on_the_disk(
    job: str, start_emulator: StartEmulator, tmp_path: Path
) -> None:
    endpoint = start_emulator(link="rtt=4ms")
    chance, gone = random.Random(SEED), []
    for moment in MOMENTS:
        folder = tmp_path / f"{moment:.2f}"
        folder.mkdir()
        container = endpoint.container()
        client = container.client
        for name, content in CONTENTS.items():
            client.upload_blob(f"tree/{name}", content)
        disk = Disk(folder)
        process = disk.start(
            [str(HAUL), *lines(container, folder)[job]], clean_environment(folder) | endpoint.env, folder
        )
        try:
            time.sleep(moment + chance.uniform(0, 0.05))
            os.killpg(process.pid, signal.SIGSTOP)
            # What was sent arrives.
            time.sleep(0.2)
            there = container.contents()
            kept = disk.after_a_failure(folder)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for name, content in CONTENTS.items():
            assert content in (there.get(f"tree/{name}"), kept.get(name)), f"{name} is lost at {moment:.2f} s"
        gone.append(sum(f"tree/{name}" not in there for name in CONTENTS))
        shutil.rmtree(folder)
    assert gone[0] == 0
    assert gone[-1] == len(CONTENTS)
    assert any(0 < count < len(CONTENTS) for count in gone), gone
