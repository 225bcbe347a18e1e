"""Other clients of S3, each told the same work in its own words."""

from __future__ import annotations

import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import obstore
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from obstore.store import S3Store

from command import clean_environment
from endpoints import RCLONE, S3Endpoint

S5CMD = Path(sys.executable).parent / "s5cmd"
REGION = "us-east-1"
#: The least that a part may have.
PART = 5 << 20


def connect(service: S3Endpoint) -> Any:
    """Return a client of boto3 that asks once."""
    return boto3.client(
        "s3",
        endpoint_url=service.url,
        aws_access_key_id=service.keys[0],
        aws_secret_access_key=service.keys[1],
        region_name=REGION,
        config=Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"}),
    )


@dataclass(frozen=True)
class Client(ABC):
    """One that copies folders to a bucket and back. What has more than a part goes in parts of 5 MiB."""

    service: S3Endpoint
    folder: Path
    """A place for what it writes beside its work."""

    @abstractmethod
    def up(self, tree: Path, bucket: str, prefix: str) -> None:
        """Upload the files below ``tree``; ``prefix`` ends in a slash."""

    @abstractmethod
    def down(self, bucket: str, prefix: str, into: Path) -> None:
        """Download what is below ``prefix``."""

    def holds(self, name: str) -> bool:
        """Whether the client takes objects of this name."""
        del name
        return True

    def _run(self, *words: str | Path, env: Mapping[str, str] = {}) -> None:
        ran = subprocess.run(
            [str(word) for word in words],
            env=clean_environment(self.folder) | self.service.env | {"AWS_REGION": REGION} | dict(env),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-2000:]


class Boto3(Client):
    """Amazon's own for Python; by itself it sends a CRC32."""

    def up(self, tree: Path, bucket: str, prefix: str) -> None:
        client = connect(self.service)
        config = TransferConfig(multipart_threshold=PART + 1, multipart_chunksize=PART)
        for path in _files(tree):
            name = prefix + path.relative_to(tree).as_posix()
            client.upload_file(str(path), bucket, name, Config=config)

    def down(self, bucket: str, prefix: str, into: Path) -> None:
        client = connect(self.service)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for name in (entry["Key"] for page in pages for entry in page["Contents"]):
            path = _place(into, name.removeprefix(prefix))
            path.write_bytes(client.get_object(Bucket=bucket, Key=name)["Body"].read())


class S5cmd(Client):
    """A command in Go, on Amazon's library."""

    def up(self, tree: Path, bucket: str, prefix: str) -> None:
        self._s5cmd("cp", "--part-size", "5", f"{tree}/", f"s3://{bucket}/{prefix}")

    def down(self, bucket: str, prefix: str, into: Path) -> None:
        self._s5cmd("cp", f"s3://{bucket}/{prefix}*", f"{into}/")

    def holds(self, name: str) -> bool:
        """It downloads to files whose names have ten letters more."""
        return all(len(part) <= 245 for part in name.split("/"))

    def _s5cmd(self, *words: str) -> None:
        self._run(S5CMD, "--endpoint-url", self.service.url, *words)


class Rclone(Client):
    """A command in Go, on the second version of Amazon's library."""

    def up(self, tree: Path, bucket: str, prefix: str) -> None:
        parts = ("--s3-chunk-size", "5Mi", "--s3-upload-cutoff", "5Mi")
        self._rclone("copy", tree, f"test:{bucket}/{prefix}", *parts)

    def down(self, bucket: str, prefix: str, into: Path) -> None:
        self._rclone("copy", f"test:{bucket}/{prefix}", into)

    def _rclone(self, *words: str | Path) -> None:
        remote = {"TYPE": "s3", "PROVIDER": "Other", "ENV_AUTH": "true", "ENDPOINT": self.service.url}
        # Else it takes two names for one that look the same.
        words = (*words, "--no-unicode-normalization")
        self._run(RCLONE, *words, env={f"RCLONE_CONFIG_TEST_{name}": value for name, value in remote.items()})


class Obstore(Client):
    """The Rust library object_store, from Python."""

    def up(self, tree: Path, bucket: str, prefix: str) -> None:
        store = self._store(bucket)

        def one(path: Path) -> None:
            name = prefix + path.relative_to(tree).as_posix()
            obstore.put(store, name, path, chunk_size=PART, use_multipart=path.stat().st_size > PART)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, _files(tree)))

    def down(self, bucket: str, prefix: str, into: Path) -> None:
        store = self._store(bucket)
        for name in (meta["path"] for page in obstore.list(store, prefix) for meta in page):
            path = _place(into, name.removeprefix(prefix))
            path.write_bytes(obstore.get(store, name).bytes())

    def holds(self, name: str) -> bool:
        """Control characters it refuses, wherever they stand."""
        return name.isprintable()

    def _store(self, bucket: str) -> S3Store:
        return S3Store(
            bucket,
            endpoint=self.service.url,
            access_key_id=self.service.keys[0],
            secret_access_key=self.service.keys[1],
            region=REGION,
            client_options={"allow_http": True},
        )


CLIENTS: dict[str, type[Client]] = {"boto3": Boto3, "s5cmd": S5cmd, "rclone": Rclone, "obstore": Obstore}


def make(name: str, service: S3Endpoint, folder: Path) -> Client:
    """Return a client of this kind, with an empty folder of its own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return CLIENTS[name](service, folder)


def _files(tree: Path) -> list[Path]:
    return sorted(path for path in tree.rglob("*") if path.is_file())


def _place(into: Path, name: str) -> Path:
    path = into / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
