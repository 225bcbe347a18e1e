"""Every hint of the command is reached: each row is an exit code and a command line.

Which hints there are is found in the sources; one that no test hands to `sentence`, or quotes, is a failure.
Those that only a service can cause are in `test_hints_service.py`, those of the Python package in
`test_hints_python.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from azure.storage.blob import BlobBlock, ContentSettings

import endpoints
import hint_sources
from command import Haul, in_own_mounts
from endpoints import Endpoint
from sentences import Sentence
from shell import Shell, lay_out

#: A key that no service knows.
KEY = "AZURE_STORAGE_KEY=d3Jvbmc="

#: What the command line alone, and the files beside it, make impossible.
LOCAL = [
    (2, "--json"),
    (2, "no-such-command"),
    (2, "mirror"),
    (2, "sync"),
    (2, "sync x y --compare mtime"),
    (2, "sync x y --delete --max-delete ten"),
    (2, "sync x/a y --delete"),
    (2, "mv x/a"),
    (2, "verfy a b"),
    (2, "cp a b --blok-size 8MiB"),
    (2, "cp a b --checksum crc46"),
    (2, "cp a b --checksum sha1"),
    (2, "cp a"),
    (2, "cp a b --cap"),
    (2, "cp a b --cap 1mbit --cap 2mbit"),
    (2, "cp a b --no-such-option"),
    (2, "cp a b --block-size 8"),
    (2, "cp a b --block-size atuo"),
    (2, "cp a b --max-memory 0B"),
    (2, "cp a b --cap 100"),
    (2, "cp a b --stall-timeout 30"),
    (2, "cp a b --stall-timeout 0s"),
    (2, "cp a b --concurrency 0"),
    (2, "cp a b --include ["),
    (2, "cp a b --exclude 2026/"),
    (2, "cp a b --exclude /a.txt"),
    (2, "cp a b --overwrite=false"),
    (2, "cp a b --overwrite true"),
    (2, "cp a b --filter x"),
    (2, "cp a b --bwlimit 1M"),
    (2, "cp a b --retries 3"),
    (2, "cp a b --ignore-existing"),
    (2, "sync a b --size-only"),
    (2, "sync a b --delete-destination"),
    (2, "cp a b -P"),
    (2, "cp a b --log-level debug"),
    (2, "ls -R a"),
    (2, "rm -R a"),
    (2, "copy a b"),
    (2, "rcat b"),
    (2, "moveto a b"),
    (2, "check a b"),
    (2, "size b"),
    (2, "delete b"),
    (2, "mkdir b"),
    (2, "rmdir b"),
    (2, "lsf b"),
    (2, "link b"),
    (2, "head b"),
    (2, "version"),
    (2, "jobs list"),
    (2, "login"),
    (2, "cp a - --json"),
    (2, "cp - -"),
    (2, "cp a b --atomic"),
    (4, "cp a b --profile no-such-profile"),
    (2, "cp a b --profile bad.toml"),
    (2, "cp a copy --record /dev/full"),
    (2, "cp a copy --receipt b"),
    (2, "cp a copy --record ''"),
    (2, "cp a copy --record .."),
    (4, "cp a copy --receipt nowhere/receipt"),
    (2, "cp x/ into --record into/run.parquet"),
    (2, "cp '' b"),
    (2, "cp a az:demo/x"),
    (2, "cp file:a b"),
    (2, "cp file://host/a b"),
    (2, "cp a b --cap 0mbit"),
    (4, "cp x/ into --include nothing"),
    (4, "verify empty/ x"),
    (2, "verify a /dev/null"),
    (2, "cp b held/by-a-link/a"),
    (2, "cp x/ held/by-a-link"),
    (2, "cp x/ held/by-a-folder"),
    (2, "cp x/ held/by-a-pipe"),
    (1, "cp x/ held/by-a-file"),
    (6, "cp /proc/sys/kernel/random/ into"),
    (2, "cp a b --profile ''"),
    (2, "cp a copy --record az:x"),
    (1, "cp x/a y/a both/"),
    (4, "cp no-such-file b"),
    (1, "cp a/ b"),
    (1, "cp not-utf-8/ b"),
    (4, "ls no-such-folder"),
    (2, "stat x/"),
    (2, "cat x/"),
    (2, "rm x"),
    (2, "rm mem://shell/x/"),
    (5, "verify a b --json"),
    (5, "verify x y --json"),
    (5, "verify torn.jsonl x"),
    (2, "cp --recursive a b"),
    (2, "cp -r a b"),
    (2, "cp -n a b"),
    (2, "cp --transfers 32 a b"),
    (2, "emulate --link rtt=60"),
    (2, "emulate --listen 10000"),
    (2, "emulate --listen 0.0.0.0:0"),
    (2, "emulate --link up=1mbit"),
    (2, "emulate --faults up=1%"),
    (2, "stat s3:///key"),
    (2, "cp a s3://b:c/key"),
    (2, "stat s3://me:me@b/key"),
    (2, "cp s3:// back"),
    (2, "mb s3://"),
    (2, "stat s3://b/key --endpoint host"),
    (2, "stat s3://b/key --region a/b"),
    (3, "stat s3://b/key --endpoint http://127.0.0.1:9"),
    (2, "stat ftp://host/a"),
    (2, "stat https://host:port/account/data/a"),
    (2, "stat https://me:me@host/account/data/a"),
    (2, "stat https://account.blob.core.windows.net/data/%FF"),
    (2, "stat https://host"),
    (2, "stat https://host/account/Data/a"),
    (2, "stat az://data/a"),
    (2, "stat az://data/a?sig=x --endpoint https://host/account"),
    (2, "stat az://data/a --endpoint host"),
    (2, "stat az://data/a --endpoint https://host"),
    (2, "AZURE_STORAGE_CONNECTION_STRING=none stat az://data/a"),
    (3, "AZURE_STORAGE_KEY=*** stat https://host/account/data/a"),
    (3, "stat https://host/account/data/a"),
    (2, f"{KEY} stat http://192.0.2.1/account/data/a"),
    (1, f"{KEY} stat http://127.0.0.1:9/account/data/a"),
]

#: What the emulator refuses, or holds.
REMOTE = [
    (4, "cp a az://no-such-container/a"),
    (4, "cp $az/nothing back"),
    (4, "cp $az/nothing/ back"),
    (4, "ls $az/nothing"),
    (4, "cp $az/x*.nc back"),
    (4, "rm -r $az/x*.nc"),
    (4, "rm $az/x*.nc"),
    (4, "ls $az/x[ab]"),
    (4, "du $az/x{a,b}"),
    (4, "stat $az/x*"),
    (1, "mb $az"),
    (2, "mb $az/a"),
    (2, "mb az://"),
    (2, "cp a az:///a"),
    (2, "cp az:// back"),
    (2, "rm -r $az/ --max-delete 1"),
    (2, "rb $az"),
    (2, "rm $az"),
    (2, "rm $az/a/"),
    (2, "cp - $az/"),
    (2, "cp - $az/a --atomic"),
    (2, "cp $az/ -"),
    (1, "cp not-utf-8 $az/b/ --atomic --json"),
    (1, "cp $az/odd/ back"),
    (2, "cp $az/out/ into"),
    (5, "cat $az/spoilt"),
    (5, "cp $az/spoilt -"),
    (5, "verify a $az/nothing --json"),
    (5, "cp $az/md5 back --block-size 64KiB"),
    (5, "verify receipt.jsonl $az/receipt/ --json"),
    (3, "stat $url?$expired"),
    (3, "stat $url?$writes"),
    (3, "stat $url?sv=2021-12-02&sp=r&sig=AAAA"),
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """All that needs no service."""
    return Shell(Haul(lay_out(tmp_path_factory.mktemp("shell"))))


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory, emulator: Endpoint) -> Shell:
    """A container with blobs, right and wrong, and what tells of them."""
    folder = lay_out(tmp_path_factory.mktemp("remote"))
    container = emulator.container()
    shell = Shell(
        Haul(folder, emulator.env, [endpoints.KEY]),
        az=container.az().removesuffix("/"),
        url=container.url("a"),
        expired=emulator.sas(lasts=timedelta(minutes=-1)),
        writes=emulator.sas("w"),
    )
    for name in ("a", "out/link/evil", "odd/name", "odd/of//name", "receipt/a"):
        container.client.upload_blob(name, b"a")
    container.client.upload_blob("spoilt", b"a", metadata={"haulage_crc64": "0" * 16})
    wrong = ContentSettings(content_md5=bytearray(16))
    blob = container.client.get_blob_client("md5")
    blob.stage_block("0000", bytes(200_000))
    blob.commit_block_list([BlobBlock("0000")], content_settings=wrong)
    # A receipt without a checksum, of a blob that is another by now.
    shell("cp x $az/receipt/ --receipt whole.jsonl")
    lines = [json.loads(line) for line in (folder / "whole.jsonl").read_text().splitlines()]
    lines[1]["crc64"] = None
    (folder / "receipt.jsonl").write_text(
        "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    )
    container.client.upload_blob("receipt/a", (folder / "x/a").read_bytes(), overwrite=True)
    return shell


@pytest.mark.parametrize(("code", "line"), LOCAL, ids=[line for _, line in LOCAL])
def test_local(shell: Shell, code: int, line: str, sentence: Sentence) -> None:
    sentence(shell.expect(code, line).hints)


@pytest.mark.parametrize(("code", "line"), REMOTE, ids=[line for _, line in REMOTE])
def test_remote(remote: Shell, code: int, line: str, sentence: Sentence) -> None:
    sentence(remote.expect(code, line).hints)


@pytest.mark.parametrize(
    ("code", "mounts"),
    [
        (1, "mount -t tmpfs -o size=4k tmpfs into"),
        (3, "mount --bind into into && mount -o remount,bind,ro into"),
    ],
)
def test_disk(shell: Shell, code: int, mounts: str, sentence: Sentence) -> None:
    (shell.haul.folder / "large").write_bytes(bytes(1 << 20))
    sentence(shell.expect(code, "cp large into/", in_own_mounts(mounts)).hints)


@pytest.mark.parametrize(
    "output",
    [
        "--receipt",
        "--record",
    ],
)
def test_disk_of_an_output(shell: Shell, output: str, sentence: Sentence) -> None:
    full = in_own_mounts("mount -t tmpfs -o size=4k tmpfs full && head -c 4096 /dev/zero > full/file")
    sentence(shell.expect(1, f"cp a copied {output} full/output", full).hints)


def test_a_port_in_use(shell: Shell, emulator: Endpoint, sentence: Sentence) -> None:
    address = urlsplit(emulator.url).netloc
    sentence(shell.expect(1, f"emulate --listen {address}").hints)


def texts_with(words: str, joined: str) -> Iterator[str]:
    """Yield those of many texts, joined by NUL, that have these words: there are too many to look at each."""
    at = joined.find(words)
    while at >= 0:
        end = joined.find("\0", at)
        end = len(joined) if end < 0 else end
        yield joined[joined.rfind("\0", 0, at) + 1 : end]
        # Nothing is found everywhere, at the end too.
        at = joined.find(words, end + 1)


@pytest.mark.slow("it parses every source and every test, which takes six seconds of a processor")
def test_every_hint_is_reached_by_a_test() -> None:
    sources = hint_sources.of_sources()
    assert len(sources) > 100, "they are no longer found"
    quoted = "\0".join(set(hint_sources.quoted_in_tests()))
    known = {hint.words for hint in sources}
    missing = []
    for hint in sources:
        # Part of a longer hint, the words are not its own.
        longer = [words for words in known if hint.words in words != hint.words]
        texts = texts_with(hint.words, quoted)
        if all(any(words in text for words in longer) for text in texts):
            missing.append(f"{hint.path.name}: {hint.text}")
    assert not missing, "\n".join(missing)
