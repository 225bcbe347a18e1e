"""`s3://` in every command, against a server that is not ours and against our own.

rclone reads what `haul` wrote, and the reverse.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import endpoints
import fake_service
import trees
from command import Haul
from conftest import StartEmulator
from endpoints import S3Endpoint
from sentences import Sentence

MIB = 1 << 20


@pytest.fixture
def bucket(s3: Haul, service: S3Endpoint) -> str:
    """A new, empty bucket."""
    url = f"s3://{service.new_name()}"
    s3("mb", url)
    return url


def rclone(haul: Haul, endpoint: S3Endpoint, *args: str | Path) -> str:
    """Run rclone; `test:` is the server."""
    config = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": endpoint.url,
        "ACCESS_KEY_ID": endpoint.keys[0],
        "SECRET_ACCESS_KEY": endpoint.keys[1],
        "REGION": "us-east-1",
    }
    env = haul.env | {f"RCLONE_CONFIG_TEST_{name}": value for name, value in config.items()}
    line = [str(endpoints.RCLONE), *map(str, args)]
    ran = subprocess.run(
        line, env=env, cwd=haul.folder, capture_output=True, text=True, timeout=100, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


def test_every_command_takes_a_bucket(s3: Haul, bucket: str, tree: Path, sentence: Sentence) -> None:
    s3("cp", tree, f"{bucket}/run/")
    assert s3("ls", bucket).text.split() == ["folder", "run/"]
    assert s3("cat", f"{bucket}/run/ünïcödé").stdout == (tree / "ünïcödé").read_bytes()
    stat = json.loads(s3("stat", "--json", f"{bucket}/run/large.bin").text)
    assert stat["size_bytes"] == 3_000_001
    assert stat["crc64"]
    count = sum(path.is_file() for path in tree.rglob("*"))
    assert f"  {count} objects  " in s3("du", bucket).text
    assert len(s3("ls", "-r", f"{bucket}/run/").text.splitlines()) == count
    s3("cp", f"{bucket}/run/", "back")
    for path in (path for path in tree.rglob("*") if path.is_file()):
        assert (s3.folder / "back" / path.relative_to(tree)).read_bytes() == path.read_bytes(), path
    s3("verify", tree, f"{bucket}/run/")
    said = s3("rb", bucket, code=2)
    assert "add --force" in said.stderr
    s3("rm", "-r", "--dry-run", f"{bucket}/run/")
    s3("rm", f"{bucket}/run/large.bin")
    s3("rm", "-r", f"{bucket}/run/")
    assert s3("ls", "-r", bucket).text == ""
    s3("rb", bucket)
    sentence(s3("ls", bucket, code=4).hints)


def test_buckets_of_the_account_are_listed(s3: Haul, bucket: str, sentence: Sentence) -> None:
    assert f"{bucket.removeprefix('s3://')}/" in s3("ls", "s3://").text.split()
    sentence(s3("mb", bucket, code=1).hints)


def test_a_large_object_is_proven_by_the_service(s3: Haul, bucket: str, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 23 * MIB)
    went = s3("cp", file, f"{bucket}/file.bin", "--json", "--block-size", "5MiB")
    (done,) = went.of("object")
    assert (done["outcome"], done["proof"], done["method"]) == ("copied", "crc64", "blocks")
    stat = json.loads(s3("stat", "--json", f"{bucket}/file.bin").text)
    assert stat["crc64"] == done["crc64"]
    s3("cp", f"{bucket}/file.bin", "back")
    assert (s3.folder / "back").read_bytes() == file.read_bytes()
    s3("cp", "-", f"{bucket}/stream", stdin=file.read_bytes())
    assert s3("cat", f"{bucket}/stream").stdout == file.read_bytes()


def test_an_interrupted_upload_goes_on_with_the_parts_that_are_there(
    s3: Haul, bucket: str, tmp_path: Path
) -> None:
    file = trees.random_file(tmp_path / "file.bin", 40 * MIB)
    to = f"{bucket}/file.bin"
    s3.kill_after_blocks(
        2,
        "cp",
        file,
        to,
        "--json",
        "--block-size",
        "6MiB",
        "--concurrency",
        "2",
        "--cap",
        "200mbit",
        api="UploadPart",
    )
    went = s3("cp", file, to, "--json", "--block-size", "9MiB")
    assert went.summary["bytes_resumed"] >= 12 * MIB
    assert went.summary["bytes_resumed"] % (6 * MIB) == 0, "the size that is found is taken"
    assert s3("cat", to).stdout == file.read_bytes()
    assert s3("clean", bucket).stderr.startswith("removed 0 leftovers")
    again = s3("cp", file, to, "--json")
    assert again.summary["bytes_done"] == 0, "the list does not tell that it is the same, a look does"


def test_a_flipped_bit_at_rest_is_found(s3: Haul, bucket: str, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 7 * MIB)
    s3("cp", file, f"{bucket}/file.bin")
    other = tmp_path / "other.bin"
    other.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:])
    s3("verify", file, f"{bucket}/file.bin")
    s3("verify", file, f"{bucket}/file.bin", "--stored")
    s3("verify", other, f"{bucket}/file.bin", code=5)
    s3("verify", other, f"{bucket}/file.bin", "--stored", code=5)


def test_of_ranges_that_were_flipped_two_in_a_row_must_agree(
    start_emulator: StartEmulator, tmp_path: Path
) -> None:
    # Nobody states a checksum of a range: that something is wrong shows only when the whole is there.
    service = endpoints.by_s3(start_emulator(faults="flip=3%,seed=4"))
    s3, bucket = Haul(tmp_path, service.env, [service.keys[1]]), f"s3://{service.new_name()}"
    file = trees.random_file(tmp_path / "file.bin", 24 * MIB)
    s3("mb", bucket)
    s3("cp", file, f"{bucket}/file.bin")
    went = s3("cp", f"{bucket}/file.bin", "back", "--json", "--block-size", "256KiB")
    assert went.of("object")[0]["proof"] == "crc64"
    assert went.summary["requests"] > 24 * 4, "with so many ranges one was flipped"
    assert (tmp_path / "back").read_bytes() == file.read_bytes()


def test_an_interrupted_upload_is_cleaned(s3: Haul, bucket: str, tmp_path: Path) -> None:
    file = trees.random_file(tmp_path / "file.bin", 40 * MIB)
    to = f"{bucket}/data/file.bin"
    how = ("--json", "--block-size", "5MiB", "--concurrency", "2", "--cap", "200mbit")
    s3.kill_after_blocks(2, "cp", file, to, *how, api="UploadPart")
    assert s3("ls", "-r", bucket).text == ""
    dry = s3("clean", "--dry-run", f"{bucket}/data/")
    assert [line.split("?uploadId=")[0] for line in dry.text.split()] == [to]
    assert s3("clean", bucket, "--include", "*.nc").stderr.startswith("removed 0 leftovers")
    assert s3("clean", bucket).stderr.startswith("removed 1 leftover")
    assert s3("clean", bucket).stderr.startswith("removed 0 leftovers")


def test_rclone_reads_what_haul_wrote_and_the_reverse(
    s3: Haul, bucket: str, tree: Path, service: S3Endpoint
) -> None:
    place = f"test:{bucket.removeprefix('s3://')}"
    s3("cp", tree, f"{bucket}/ours/")
    rclone(s3, service, "check", tree, f"{place}/ours", "--download")
    # Times too: a first sync of theirs over our copy has nothing to do.
    assert rclone(s3, service, "copy", tree, f"{place}/ours", "--log-level", "ERROR", "--use-json-log") == ""
    listed = json.loads(rclone(s3, service, "lsjson", f"{place}/ours/large.bin"))
    assert listed[0]["ModTime"][:19] == _utc((tree / "large.bin").stat().st_mtime)
    rclone(s3, service, "copy", tree, f"{place}/theirs")
    s3("verify", tree, f"{bucket}/theirs/")
    assert (
        s3("cp", tree / "large.bin", f"{bucket}/theirs/large.bin", "--json").of("object")[0]["outcome"]
        == "skipped"
    )


def _utc(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@pytest.mark.parametrize("variable", ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
def test_a_variable_names_the_profile(
    variable: str, s3: Haul, service: S3Endpoint, bucket: str, tmp_path: Path, sentence: Sentence
) -> None:
    """The keys of AWS_DEFAULT_PROFILE were not read, and a misspelt name was not said."""
    (tmp_path / "keys").write_text(
        f"[lab]\naws_access_key_id = {service.keys[0]}\naws_secret_access_key = {service.keys[1]}\n"
    )
    there = {name: value for name, value in s3.env.items() if name not in service.env}
    there |= {"AWS_ENDPOINT_URL": service.url, "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "keys")}
    assert Haul(tmp_path, there | {variable: "lab"})("ls", bucket).text == ""
    said = Haul(tmp_path, there | {variable: "lib"})("ls", bucket, code=3)
    sentence(said.stderr)
    assert said.hints


def test_certificates_of_awss_variable_and_profile_are_trusted_and_no_others(tmp_path: Path) -> None:
    root, other = tmp_path / "root.pem", tmp_path / "other.pem"
    key = fake_service.make_certificate(root)
    fake_service.make_certificate(other)
    (tmp_path / "config").write_text("[profile lab]\nca_bundle = ~/root.pem\n")
    with endpoints.emulator(tmp_path, tls=(root, key)) as endpoint:
        env = endpoints.by_s3(endpoint).env
        lab = {"AWS_CONFIG_FILE": "~/config", "AWS_PROFILE": "lab"}
        for more, code in (
            ({"AWS_CA_BUNDLE": str(root)}, 0),
            (lab, 0),
            ({"REQUESTS_CA_BUNDLE": f'"{root}"\n', "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""}, 0),
            ({"AWS_CA_BUNDLE": str(other), "SSL_CERT_FILE": str(root)}, 1),
            ({"AWS_CA_BUNDLE": str(tmp_path / "none.pem")}, 4),
        ):
            Haul(tmp_path, env | more)("ls", "s3://", code=code)
        Haul(tmp_path, env | {"AWS_CA_BUNDLE": str(other)})("ls", "s3://", "--ca", root)
        trusting = Haul(tmp_path, env | lab)
        trusting("mb", "s3://bucket")
        trusting("doctor", "s3://bucket")
