"""boto3 and rclone on the emulator's S3 side, and Azure's own client on the other."""

from __future__ import annotations

import base64
import datetime
import hashlib
import http.client
import ipaddress
import json
import signal
import ssl
import subprocess
import urllib.parse
import urllib.request
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

import haulage
import trees
from command import HAUL, clean_environment
from endpoints import RCLONE, Container

MIB = 1 << 20
#: Names of every kind, and one as long as may be.
NAMES = [
    "plain.nc",
    "with space",
    "a+b",
    "100%25 %",
    "a#?&=:@;,'\"<>",
    "ünï/☃",
    "a//b",
    "//two",
    "/leading",
    "trailing/",
    "~-._!*()",
    "a\\b",
    "tab\there",
    "é" * 512,
]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """boto3 reads what the person who runs the tests has set."""
    for name, value in clean_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)


def connect(access: Mapping[str, str], style: str = "path", **settings: Any) -> Any:
    """Return a client of boto3 that asks once."""
    # What it signs in URLs would be signed in the old way otherwise.
    config = Config(
        retries={"total_max_attempts": 1}, s3={"addressing_style": style}, signature_version="s3v4"
    )
    return boto3.client("s3", **access, config=config, **settings)


@pytest.fixture
def s3(counting: haulage.Emulator, blobs: Container) -> Any:
    """A client whose buckets are the containers of `blobs`."""
    assert counting.connection_string == blobs.endpoint.connection_string
    return connect(counting.s3)


def code(error: pytest.ExceptionInfo[ClientError]) -> str:
    found: str = error.value.response["Error"]["Code"]
    return found


def random_bytes(length: int) -> bytes:
    return hashlib.shake_128(b"seed").digest(length)


def test_names_of_every_kind_are_the_same_on_both_sides(s3: Any, blobs: Container) -> None:
    for number, name in enumerate(NAMES):
        if number % 2:
            s3.put_object(Bucket=blobs.name, Key=name, Body=name.encode())
        else:
            blobs.client.upload_blob(name, name.encode())
    listed = [entry["Key"] for entry in s3.list_objects_v2(Bucket=blobs.name)["Contents"]]
    assert listed == sorted(NAMES, key=str.encode)
    assert sorted(blobs.contents()) == sorted(NAMES)
    for name in NAMES:
        assert s3.get_object(Bucket=blobs.name, Key=name)["Body"].read() == name.encode()
        assert blobs.client.download_blob(name).readall() == name.encode()
    first = s3.list_objects(Bucket=blobs.name, MaxKeys=3, Delimiter="/")
    assert first["IsTruncated"]
    removed = s3.delete_objects(Bucket=blobs.name, Delete={"Objects": [{"Key": name} for name in NAMES]})
    assert sorted(entry["Key"] for entry in removed["Deleted"]) == sorted(NAMES)
    assert blobs.contents() == {}


def test_pages_hold_all_names_once(s3: Any, blobs: Container) -> None:
    names = [f"{folder}/{number}" for folder in "abc" for number in range(7)]
    for name in names:
        s3.put_object(Bucket=blobs.name, Key=name, Body=b"")
    for version in ("list_objects", "list_objects_v2"):
        pages = s3.get_paginator(version).paginate(Bucket=blobs.name, PaginationConfig={"PageSize": 4})
        assert [entry["Key"] for page in pages for entry in page["Contents"]] == names
        pages = s3.get_paginator(version).paginate(
            Bucket=blobs.name, Delimiter="/", PaginationConfig={"PageSize": 2}
        )
        found = [entry["Prefix"] for page in pages for entry in page.get("CommonPrefixes", [])]
        assert found == ["a/", "b/", "c/"]


def test_a_large_object_travels_in_parts_with_its_checksum(s3: Any, blobs: Container, tmp_path: Path) -> None:
    data = random_bytes(12 * MIB + 5)
    source = tmp_path / "large.bin"
    source.write_bytes(data)
    config = TransferConfig(multipart_threshold=5 * MIB, multipart_chunksize=5 * MIB)
    extra = {"Metadata": {"kind": "test"}, "ContentType": "text/x", "ChecksumAlgorithm": "SHA256"}
    s3.upload_file(str(source), blobs.name, "large", ExtraArgs=extra, Config=config)
    back = tmp_path / "back.bin"
    s3.download_file(blobs.name, "large", str(back), Config=config)
    assert back.read_bytes() == data
    head = s3.head_object(Bucket=blobs.name, Key="large", ChecksumMode="ENABLED")
    parts = [data[at : at + 5 * MIB] for at in range(0, len(data), 5 * MIB)]
    md5s = b"".join(hashlib.md5(part).digest() for part in parts)
    assert head["ETag"] == f'"{hashlib.md5(md5s).hexdigest()}-3"'
    sums = b"".join(hashlib.sha256(part).digest() for part in parts)
    assert head["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(sums).digest()).decode() + "-3"
    assert (head["ContentType"], head["Metadata"]) == ("text/x", {"kind": "test"})
    assert blobs.client.download_blob("large").readall() == data
    assert not s3.list_multipart_uploads(Bucket=blobs.name).get("Uploads")


def test_parts_go_on_where_they_were_left(s3: Any, blobs: Container) -> None:
    data = random_bytes(5 * MIB + 10)
    at = {"Bucket": blobs.name, "Key": "left"}
    begun = s3.create_multipart_upload(**at, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    upload = {**at, "UploadId": begun["UploadId"]}
    s3.upload_part(**upload, PartNumber=1, Body=data[: 5 * MIB])
    found = s3.list_multipart_uploads(Bucket=blobs.name)["Uploads"]
    assert [(entry["Key"], entry["UploadId"]) for entry in found] == [("left", begun["UploadId"])]
    s3.upload_part(**upload, PartNumber=2, Body=data[5 * MIB :])
    parts = s3.list_parts(**upload)["Parts"]
    assert parts[0]["ChecksumCRC32"] == base64.b64encode(zlib.crc32(data[: 5 * MIB]).to_bytes(4)).decode()
    listed = [{"PartNumber": part["PartNumber"], "ETag": part["ETag"]} for part in parts]
    whole = base64.b64encode(zlib.crc32(data).to_bytes(4)).decode()
    wrong = base64.b64encode(zlib.crc32(b"other").to_bytes(4)).decode()
    with pytest.raises(ClientError) as refused:
        s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": listed}, ChecksumCRC32=wrong)
    assert code(refused) == "BadDigest"
    done = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": listed}, ChecksumCRC32=whole)
    assert (done["ChecksumCRC32"], done["ChecksumType"]) == (whole, "FULL_OBJECT")
    assert s3.get_object(**at, PartNumber=2)["Body"].read() == data[5 * MIB :]
    copied = s3.copy_object(
        Bucket=blobs.name, Key="copy é+", CopySource={"Bucket": blobs.name, "Key": "left"}
    )
    assert copied["CopyObjectResult"]["ETag"] == f'"{hashlib.md5(data).hexdigest()}"'
    attributes = s3.get_object_attributes(
        **at, ObjectAttributes=["ETag", "Checksum", "ObjectParts", "ObjectSize"]
    )
    assert attributes["ObjectParts"]["TotalPartsCount"] == 2
    assert attributes["ObjectSize"] == len(data)


def test_a_url_alone_is_enough(s3: Any, counting: haulage.Emulator, blobs: Container) -> None:
    for style in ("path", "virtual"):
        access = {
            **counting.s3,
            "endpoint_url": counting.s3["endpoint_url"].replace("127.0.0.1", "localhost"),
        }
        client = connect(access, style)
        at = {"Bucket": blobs.name, "Key": "a b+é/☃"}
        put = client.generate_presigned_url("put_object", {**at, "ContentType": "text/x"}, ExpiresIn=60)
        # The name of a bucket before localhost is not in every resolver.
        parts = urllib.parse.urlsplit(put)
        assert parts.hostname == ("localhost" if style == "path" else f"{blobs.name}.localhost")
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
        target = f"{parts.path}?{parts.query}"
        headers = {"Host": parts.netloc, "Content-Type": "text/x"}
        connection.request("PUT", target, body=style.encode(), headers=headers)
        assert connection.getresponse().status == 200
        connection.close()
        assert s3.get_object(**at)["Body"].read() == style.encode()
    get = s3.generate_presigned_url("get_object", {**at, "ResponseContentType": "text/y"}, ExpiresIn=60)
    with urllib.request.urlopen(get, timeout=20) as answer:
        assert (answer.read(), answer.headers["Content-Type"]) == (b"virtual", "text/y")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(get.replace("text%2Fy", "text%2Fz"), timeout=20)
    with refused.value as answer:
        assert answer.code == 403


def test_conditions_tags_and_classes(s3: Any, blobs: Container) -> None:
    at = {"Bucket": blobs.name, "Key": "a"}
    etag = s3.put_object(**at, Body=b"x", StorageClass="STANDARD_IA", Tagging="k=v&l=%20")["ETag"]
    with pytest.raises(ClientError) as refused:
        s3.put_object(**at, Body=b"y", IfNoneMatch="*")
    assert code(refused) == "PreconditionFailed"
    s3.put_object(**at, Body=b"y", IfMatch=etag, Tagging="k=v&l=%20", StorageClass="STANDARD_IA")
    with pytest.raises(ClientError) as refused:
        s3.delete_object(**at, IfMatch=etag)
    assert code(refused) == "PreconditionFailed"
    assert s3.get_object_tagging(**at)["TagSet"] == [{"Key": "k", "Value": "v"}, {"Key": "l", "Value": " "}]
    s3.put_object_tagging(**at, Tagging={"TagSet": [{"Key": "é", "Value": "☃"}]})
    head = s3.head_object(**at)
    assert (head["StorageClass"], head["TagCount"]) == ("STANDARD_IA", 1)
    s3.delete_object_tagging(**at)
    assert s3.get_object_tagging(**at)["TagSet"] == []
    assert s3.get_object_acl(**at)["Grants"][0]["Permission"] == "FULL_CONTROL"
    s3.put_object_acl(**at, ACL="private")
    with pytest.raises(ClientError) as refused:
        s3.get_object(Bucket=blobs.name, Key="none")
    assert code(refused) == "NoSuchKey"
    assert s3.get_bucket_location(Bucket=blobs.name)["LocationConstraint"] is None
    assert "Status" not in s3.get_bucket_versioning(Bucket=blobs.name)
    with pytest.raises(ClientError) as refused:
        s3.create_bucket(Bucket=blobs.name)
    assert code(refused) == "BucketAlreadyOwnedByYou"
    assert blobs.name in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]


def test_what_is_counted(s3: Any, counting: haulage.Emulator, blobs: Container) -> None:
    s3.put_object(Bucket=blobs.name, Key="a", Body=b"12345")
    s3.get_object(Bucket=blobs.name, Key="a")["Body"].read()
    requests = counting.stats()["requests"]
    assert (requests["PutObject"], requests["GetObject"], requests["CreateContainer"]) == (1, 1, 1)


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, private, serialization.NoEncryption()))
    return files


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[tuple[dict[str, str], Path]]:
    """`haul emulate` with a certificate: what it says to S3 clients, and the certificate."""
    cert, key = certificate(tmp_path)
    command = [str(HAUL), "emulate", "--listen", "127.0.0.1:0", "--json"]
    command += ["--tls-cert", str(cert), "--tls-key", str(key)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=clean_environment(tmp_path)) as process:
        assert process.stdout is not None
        serving = json.loads(process.stdout.readline())
        yield serving["s3"], cert
        process.terminate()


def test_over_tls_boto3_sends_its_checksums_behind_the_body(
    secure: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    said, cert = secure
    assert said["endpoint_url"].startswith("https://127.0.0.1:")
    assert said["region"] == "us-east-1"
    access = {
        "endpoint_url": said["endpoint_url"],
        "aws_access_key_id": said["access_key_id"],
        "aws_secret_access_key": said["secret_access_key"],
        "region_name": said["region"],
    }
    client = connect(access, verify=str(cert))
    sent: list[str] = []
    client.meta.events.register(
        "before-send.s3",
        lambda request, **_: sent.append(request.headers.get("X-Amz-Content-SHA256", b"").decode()),
    )
    client.create_bucket(Bucket="box")
    data = random_bytes(3 * MIB + 1)
    for algorithm in ("CRC32", "SHA1", "SHA256"):
        put = client.put_object(Bucket="box", Key="a", Body=data, ChecksumAlgorithm=algorithm)
        assert sent[-1] == "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
        got = client.get_object(Bucket="box", Key="a", ChecksumMode="ENABLED")
        assert got["Body"].read() == data
        assert got[f"Checksum{algorithm}"] == put[f"Checksum{algorithm}"]
        assert "ContentEncoding" not in got
    client.put_object(Bucket="box", Key="b", Body=b"zipped", ContentEncoding="gzip")
    assert client.head_object(Bucket="box", Key="b")["ContentEncoding"] == "gzip"
    source = tmp_path / "source"
    source.write_bytes(data * 4)
    client.upload_file(str(source), "box", "parts", Config=TransferConfig(multipart_threshold=5 * MIB))
    assert client.get_object(Bucket="box", Key="parts")["Body"].read() == data * 4
    context = ssl.create_default_context(cafile=cert)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{said['endpoint_url']}/box/a", timeout=20, context=context)
    with refused.value as answer:
        assert (answer.code, b"<Code>AccessDenied</Code>" in answer.read()) == (403, True)


def test_a_command_finds_the_endpoint_in_its_environment(tmp_path: Path) -> None:
    script = "env | grep ^AWS_ | sort"
    command = [str(HAUL), "emulate", "--listen", "127.0.0.1:0", "--quiet", "--", "sh", "-c", script]
    ran = subprocess.run(
        command, env=clean_environment(tmp_path), capture_output=True, text=True, timeout=60, check=True
    )
    lines = dict(line.split("=", 1) for line in ran.stdout.splitlines())
    assert lines["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert (lines["AWS_ACCESS_KEY_ID"], lines["AWS_REGION"]) == ("devstoreaccount1", "us-east-1")
    assert lines["AWS_DEFAULT_REGION"] == "us-east-1"
    assert lines["AWS_SECRET_ACCESS_KEY"].endswith("==")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_hears_of_a_signal_that_only_the_emulator_got(tmp_path: Path, number: int) -> None:
    """As from docker stop: it was killed after five seconds, and its exit code was lost."""
    script = 'trap "echo cleaned; exit 3" TERM INT HUP; echo ready; while :; do sleep 0.05; done'
    command = [str(HAUL), "emulate", "--listen", "127.0.0.1:0", "--quiet", "--", "sh", "-c", script]
    # Away from a terminal, at which Ctrl-C is for both.
    with subprocess.Popen(
        command, env=clean_environment(tmp_path), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.communicate(timeout=60)[0] == "cleaned\n"
        assert process.returncode == 3


def test_rclone_moves_a_tree_through_s3_and_azure(
    counting: haulage.Emulator, blobs: Container, tree: Path, tmp_path: Path
) -> None:
    access = counting.s3
    settings = {
        "TYPE": "s3",
        "PROVIDER": "Other",
        "ENDPOINT": access["endpoint_url"],
        "ACCESS_KEY_ID": access["aws_access_key_id"],
        "SECRET_ACCESS_KEY": access["aws_secret_access_key"],
        "REGION": access["region_name"],
    }
    env = {f"RCLONE_CONFIG_TEST_{name}": value for name, value in settings.items()}

    def rclone(*args: str | Path) -> None:
        ran = subprocess.run(
            [RCLONE, *map(str, args), "--config", "", "--s3-upload-cutoff", "1Mi", "--s3-chunk-size", "5Mi"],
            cwd=tmp_path,
            env={**clean_environment(tmp_path), **env},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]

    rclone("copy", tree, f"test:{blobs.name}/run")
    rclone("check", tree, f"test:{blobs.name}/run", "--download")
    trees.assert_same(
        {name.removeprefix("run/"): data for name, data in blobs.contents().items()}, trees.contents(tree)
    )
    rclone("copy", f"test:{blobs.name}/run", "back")
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))
    rclone("purge", f"test:{blobs.name}/run")
    assert blobs.contents() == {}
