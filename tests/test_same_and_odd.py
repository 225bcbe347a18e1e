"""One object under two interfaces, blobs that others began, and ends of a job that nobody asked for."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import endpoints
import trees
from command import HAUL, Haul
from endpoints import Container, Endpoint
from sentences import Sentence

MIB = 1 << 20


@pytest.fixture
def haul(emulator: Endpoint, tmp_path: Path) -> Haul:
    """The command, with the keys of both interfaces of the emulator."""
    return Haul(tmp_path, emulator.env | endpoints.by_s3(emulator).env, [endpoints.KEY])


@pytest.fixture
def container(emulator: Endpoint) -> Container:
    return emulator.container()


def name_of(container: Container) -> str:
    return container.az("").removeprefix("az://").rstrip("/")


@pytest.mark.parametrize("ways", [("az", "s3"), ("s3", "az")])
def test_a_move_to_the_same_object_by_another_interface_keeps_it(
    haul: Haul, container: Container, ways: tuple[str, str], sentence: Sentence
) -> None:
    """Both were gone: the object at the destination counted as a copy of itself."""
    (haul.folder / "f").write_bytes(b"the only copy")
    name = name_of(container)
    haul("cp", "f", f"az://{name}/d/a")
    said = haul("mv", f"{ways[0]}://{name}/d", f"{ways[1]}://{name}/d", code=2)
    sentence(said.stderr)
    assert said.hints
    assert container.contents() == {"d/a": b"the only copy"}


@pytest.fixture
def beside() -> Iterator[Haul]:
    """The command in a folder with that of a gateway, which has the bucket `box`.

    Not in pytest's folder, which may be on a file system without the attributes that the gateway keeps.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name, endpoints.versitygw(Path(name)) as service:
        haul = Haul(Path(name), service.env, [service.keys[1]])
        haul("mb", "s3://box")
        yield haul


def kept_by_gateway(folder: Path) -> Path:
    """Return the file that is `d/f` of the bucket."""
    (kept,) = (path for path in folder.rglob("d/f") if path.is_file())
    return kept


@pytest.mark.parametrize("to_folder", [False, True])
def test_a_move_between_a_gateway_and_its_folder_keeps_the_file(
    beside: Haul, to_folder: bool, sentence: Sentence
) -> None:
    (beside.folder / "x").mkdir()
    (beside.folder / "x" / "f").write_bytes(b"the only copy")
    os.utime(beside.folder / "x" / "f", (1_700_000_000, 1_700_000_000))
    beside("cp", "x", "s3://box/d/")
    kept = kept_by_gateway(beside.folder)
    places = [f"{kept.parent}/", "s3://box/d/"]
    said = beside("mv", *(reversed(places) if to_folder else places), code=2)
    sentence(said.stderr)
    assert kept.read_bytes() == b"the only copy"


def test_a_file_with_the_time_of_its_object_outlives_the_move(beside: Haul, sentence: Sentence) -> None:
    """What was unpacked has whole seconds, which a gateway shows as they are: file and object were gone."""
    beside("cp", "-", "s3://box/d/f", stdin=b"the only copy")
    kept = kept_by_gateway(beside.folder)
    os.utime(kept, (1_700_000_000, 1_700_000_000))
    said = beside("mv", "s3://box/d/", f"{kept.parent}/", code=2)
    sentence(said.stderr)
    assert said.hints
    assert trees.contents(kept.parent) == {"f": b"the only copy"}
    # A copy in another folder has that time too, and is one.
    beside("cp", "s3://box/d/", "copy/")
    beside("mv", "s3://box/d/", "copy/")
    assert (trees.contents(beside.folder / "copy"), kept.exists()) == ({"f": b"the only copy"}, False)


def test_a_file_that_a_gateway_shows_with_its_own_time_outlives_the_move(
    beside: Haul, sentence: Sentence
) -> None:
    """As some gateways keep the time that an upload states: only what happens to the copy tells."""
    source = beside.folder / "x" / "f"
    source.parent.mkdir()
    source.write_bytes(b"the only copy")
    beside("cp", "x", "s3://box/d/")
    kept = kept_by_gateway(beside.folder)
    os.utime(kept, ns=(source.stat().st_mtime_ns, source.stat().st_mtime_ns))
    said = beside("mv", f"{kept.parent}/", "s3://box/d/", code=2)
    sentence(said.stderr)
    assert said.hints
    assert trees.contents(kept.parent) == {"f": b"the only copy"}
    # The file that it was made from is no such file.
    beside("mv", "x", "s3://box/d/")
    assert (trees.contents(source.parent), kept.read_bytes()) == ({}, b"the only copy")


@pytest.fixture
def two_names(haul: Haul, emulator: Endpoint, container: Container) -> Haul:
    """The command, to which `one:` and `two:` are one bucket."""
    url = endpoints.by_s3(emulator).url
    assert "127.0.0.1" in url
    remotes = {"one": url, "two": url.replace("127.0.0.1", "localhost")}
    text = "".join(
        f'[remotes.{name}]\nurl = "s3://{name_of(container)}"\nendpoint = "{at}"\n'
        for name, at in remotes.items()
    )
    (haul.folder / "two.toml").write_text(text)
    return Haul(haul.folder, haul.env | {"HAULAGE_CONFIG": str(haul.folder / "two.toml")}, [endpoints.KEY])


@pytest.mark.parametrize("what", [["d", "d"], ["d/a", "d/a"]])
def test_what_is_replaced_whatever_is_there_is_not_deleted_as_its_own_source(
    two_names: Haul, container: Container, what: list[str], sentence: Sentence
) -> None:
    """An ETag that is an MD5 is the same after an object was written over itself: all were gone."""
    for name in ("d/a", "d/b"):
        container.client.upload_blob(name, b"the only copy")
    before = container.contents()
    said = two_names("mv", f"one:{what[0]}", f"two:{what[1]}", "--overwrite", "always", code=2)
    # Which of the two is named varies.
    sentence(said.hints)
    assert container.contents() == before


def test_no_backup_is_the_object_itself(two_names: Haul, container: Container, sentence: Sentence) -> None:
    """Replaced and deleted contents were said to be backed up, and were nowhere."""
    for name in ("d/a", "d/b"):
        container.client.upload_blob(name, b"the only copy")
    before = container.contents()
    source = two_names.folder / "less"
    source.mkdir()
    (source / "a").write_bytes(b"new")
    said = two_names("sync", "less", "one:d", "--delete", "--backup-dir", "two:d", code=2)
    sentence(said.stderr)
    assert said.hints
    assert container.contents() == before


def test_a_name_that_the_destination_takes_for_another_is_no_copy(haul: Haul, container: Container) -> None:
    """Two became one: `mv` deleted both sources, and each second `sync --delete` what it had written."""
    for name, content in (("a/b", b"one"), ("a//b", b"other"), ("z", b"z")):
        container.client.upload_blob(name, content)
    before = container.contents()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, endpoints.versitygw(Path(folder)) as service:
        haul = Haul(haul.folder, haul.env | service.env, [endpoints.KEY, service.keys[1]])
        bucket = f"s3://{service.new_name()}"
        haul("mb", bucket)
        haul("cp", "-", f"{bucket}/extra", stdin=b"extra")
        # What is as old to the second may be the same object by another interface.
        time.sleep(1.1)
        odd = "the service takes this name for that of another object"
        for _ in range(2):
            said = haul("sync", container.az(), bucket, "--delete", code=1)
            assert odd in said.stderr
            assert said.hints == {"rename it at the source, or copy it alone, to a name of your choice"}
            assert "nothing was deleted, because not everything was copied" in said.stderr
            assert b"a/b" in haul("ls", "-r", bucket).stdout
        assert odd in haul("mv", container.az(), bucket, code=1).stderr
        assert container.contents() == {"a//b": before["a//b"]}
        assert haul("cp", f"{bucket}/a/b", "-").stdout == b"one"


@pytest.mark.parametrize("name", ["a\\b", "ends.", "a./b"])
def test_names_that_azure_would_change_are_not_written(
    haul: Haul, container: Container, name: str, sentence: Sentence
) -> None:
    (haul.folder / "x" / "a.").mkdir(parents=True)
    (haul.folder / "x" / name).write_bytes(b"x")
    said = haul("mv", "x", container.az(), code=2)
    sentence(said.hints)
    assert (container.contents(), (haul.folder / "x" / name).exists()) == ({}, True)


def test_an_append_blob_is_in_the_way_of_blocks_only(
    haul: Haul, container: Container, sentence: Sentence
) -> None:
    """The object counted as failed and had been replaced; a hint said to run the same again."""
    trees.random_file(haul.folder / "large", 9 * MIB)
    for name in ("whole", "blocks"):
        container.client.get_blob_client(name).create_append_blob()
    haul("cp", "large", container.az("whole"), "--method", "whole")
    assert container.contents()["whole"] == (haul.folder / "large").read_bytes()
    said = haul("cp", "large", container.az("blocks"), "--method", "ranges", code=1)
    sentence(said.hints)


@pytest.mark.parametrize("there", [False, True])
def test_unfinished_blocks_of_another_program_are_said(
    haul: Haul, container: Container, there: bool, sentence: Sentence
) -> None:
    """It was only `InvalidBlobOrBlock`, each time anew."""
    file = trees.random_file(haul.folder / "large", 9 * MIB)
    blob = container.client.get_blob_client("x")
    if there:
        blob.upload_blob(b"before")
    blob.stage_block("short", b"of another program")
    said = haul("cp", "large", container.az("x"), "--method", "ranges", code=1)
    sentence(said.stderr)
    if there:
        haul("cp", "large", container.az("x"), "--method", "whole")
    else:
        haul("clean", container.az(""))
        haul("cp", "large", container.az("x"), "--method", "ranges")
    assert container.contents()["x"] == file.read_bytes()


def test_what_was_skipped_is_said_beside_failures(haul: Haul, container: Container) -> None:
    (haul.folder / "f").write_bytes(b"f")
    haul("cp", "f", container.az(""))
    said = haul("cp", "none", "f", container.az(""), code=1)
    assert "skipped: 1 object" in said.stderr
    assert "failed: 1 object" in said.stderr


def test_metadata_that_would_become_one_is_refused(
    haul: Haul, container: Container, sentence: Sentence
) -> None:
    """One of the two was lost."""
    import boto3

    name = name_of(container)
    keys = {
        "aws_access_key_id": haul.env["AWS_ACCESS_KEY_ID"],
        "aws_secret_access_key": haul.env["AWS_SECRET_ACCESS_KEY"],
    }
    s3 = boto3.client("s3", endpoint_url=haul.env["AWS_ENDPOINT_URL"], region_name="us-east-1", **keys)
    s3.create_bucket(Bucket=f"{name}-s")
    s3.put_object(Bucket=f"{name}-s", Key="a", Body=b"x", Metadata={"a-b": "1", "a_b": "2"})
    said = haul("cp", f"s3://{name}-s/a", container.az("a"), code=2)
    sentence(said.hints)
    assert container.contents() == {}


@pytest.mark.parametrize("ignored", [False, True])
def test_the_end_of_a_terminal_stops_a_job_as_ctrl_c_does(
    haul: Haul, container: Container, ignored: bool
) -> None:
    """There was no summary and no record; under `nohup` the job goes on."""
    trees.random_file(haul.folder / "large", 8 * MIB)
    line = [str(HAUL), "cp", "large", container.az("large"), "--cap", "24mbit", "--record", "run.parquet"]
    job = subprocess.Popen(
        line,
        cwd=haul.folder,
        env=haul.env,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if ignored else None,
    )
    time.sleep(1)
    job.send_signal(signal.SIGHUP)
    _, said = job.communicate(timeout=60)
    assert job.returncode == (0 if ignored else 130), said
    assert ("interrupted" in said) is not ignored
    assert (haul.folder / "run.parquet").exists()
    assert ("large" in container.contents()) is ignored


def test_a_small_limit_on_open_files_is_raised_or_said(haul: Haul, container: Container) -> None:
    """Most of the objects failed, and the hint spoke of the disk."""
    folder = haul.folder / "many"
    folder.mkdir()
    for at in range(300):
        (folder / f"{at}").write_bytes(b"x" * 1000)

    def run(hard: int) -> subprocess.CompletedProcess[str]:
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (40, hard))

        line = [str(HAUL), "cp", "many", container.az(f"{hard}/"), "--concurrency", "200"]
        return subprocess.run(
            line, cwd=haul.folder, env=haul.env, capture_output=True, text=True, preexec_fn=limit, timeout=60
        )

    assert run(resource.getrlimit(resource.RLIMIT_NOFILE)[1]).returncode == 0
    short = run(40)
    assert short.returncode == 1
    assert "(hint: raise the limit with ulimit -n, or lower --concurrency)" in short.stderr
