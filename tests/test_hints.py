"""Every hint of the command is reached: each row is an exit code, a command line and its hint.

Which hints there are is found in the sources; one that no test quotes is a failure. Those that only a
service can cause are in `test_hints_service.py`, those of the Python package in `test_hints_python.py`.
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
from shell import Shell, lay_out

#: A key that no service knows.
KEY = "AZURE_STORAGE_KEY=d3Jvbmc="
SEE_CP = "haul cp --help shows examples"
COMMANDS = "haul --help lists the commands"
NAMES = "container names have 3 to 63 lower-case letters, digits and hyphens"
ADDRESS = "write https://ACCOUNT.blob.core.windows.net/container/path"
LIST = "list what is there with: haul ls"
COPY_AGAIN = "copy it again, then verify again"

#: What the command line alone, and the files beside it, make impossible.
LOCAL = [
    (2, "--json", COMMANDS),
    (2, "no-such-command", COMMANDS),
    (2, "mirror", "haul --help lists the commands"),
    (2, "sync", "haul sync --help shows examples"),
    (2, "sync x y --compare mtime", "write auto, size, time, checksum or receipt"),
    (
        2,
        "sync x y --delete --max-delete ten",
        "write a number such as 100, or a share of the destination such as 10%",
    ),
    (2, "sync x/a y --delete", "leave out --delete, or name the folder or prefix that it is in"),
    (2, "mv x/a", "haul mv --help shows examples"),
    (2, "verfy a b", "did you mean verify?"),
    (2, "cp a b --blok-size 8MiB", "did you mean --block-size?"),
    (2, "cp a b --checksum crc46", "did you mean crc64?"),
    (2, "cp a b --checksum sha1", SEE_CP),
    (2, "cp a", SEE_CP),
    (2, "cp a b --cap", SEE_CP),
    (2, "cp a b --cap 1mbit --cap 2mbit", SEE_CP),
    (2, "cp a b --no-such-option", SEE_CP),
    (2, "cp a b --block-size 8", "write 8KiB or 8MiB"),
    (2, "cp a b --block-size atuo", "write auto or a size such as 8MiB"),
    (2, "cp a b --max-memory 0B", "write a size such as 8MiB"),
    (2, "cp a b --cap 100", "write 100mbit or 100MiB/s"),
    (2, "cp a b --stall-timeout 30", "write 30s or 30m"),
    (2, "cp a b --stall-timeout 0s", "write a duration such as 30s"),
    (2, "cp a b --concurrency 0", "write auto or a number such as 32"),
    (2, "cp a b --include [", "globs use *, ?, [a-z] and {a,b}; quote them for the shell"),
    (
        2,
        "cp a b --exclude 2026/",
        "for all below a folder write '2026/**', or '*/2026/**' for one at any depth",
    ),
    (2, "cp a b --exclude /a.txt", "write 'a.txt'; only a pattern that begins with * matches at any depth"),
    (2, "cp a b --overwrite=false", "use --overwrite never"),
    (2, "cp a b --overwrite true", "use --overwrite always"),
    (2, "cp a b --filter x", "use --include and --exclude, or --files-from LIST"),
    (2, "cp a b --bwlimit 1M", "use --cap, such as --cap 100mbit"),
    (2, "cp a b --retries 3", "leave it out: requests are retried while that helps"),
    (2, "cp a b --ignore-existing", "use --overwrite never"),
    (2, "sync a b --size-only", "use haul sync --compare size"),
    (2, "sync a b --delete-destination", "use haul sync SRC DST --delete"),
    (2, "cp a b -P", "use --progress bar or --progress plain"),
    (2, "cp a b --log-level debug", "use -v, or --json to let a program read"),
    (2, "ls -R a", "use -r"),
    (2, "rm -R a", "use -r"),
    (2, "copy a b", "haul cp SRC DST"),
    (2, "rcat b", "haul cp - URL"),
    (2, "moveto a b", "haul mv SRC DST"),
    (2, "check a b", "haul verify SRC DST --stored compares what the stores say"),
    (2, "size b", "haul du URL"),
    (2, "delete b", "haul rm URL, with -r for everything below a prefix"),
    (2, "mkdir b", "haul mb URL"),
    (2, "rmdir b", "haul rb URL"),
    (2, "lsf b", "haul ls URL"),
    (2, "link b", "haul presign URL"),
    (2, "head b", "haul stat URL"),
    (2, "version", "haul --version"),
    (2, "jobs list", "run the same command again to resume; haul watch shows running jobs"),
    (2, "login", "credentials come from the environment or az login; haul doctor shows which"),
    (2, "cp a - --json", "use --record FILE.parquet, or copy to a file"),
    (2, "cp - -", "haul cp - URL, or haul cp URL -"),
    (2, "cp a b --atomic", "leave out --atomic; each file appears only when it is complete in any case"),
    (
        4,
        "cp a b --profile no-such-profile",
        "use the name of a profile that haul lab has written, or the path of its file",
    ),
    (
        2,
        "cp a b --profile bad.toml",
        'concurrency = 32, block_size = "1MiB" and single_put_max = "4MiB", each if you like',
    ),
    (2, "cp a copy --record /dev/full", "use another file for the record"),
    (2, "cp a copy --receipt b", "use another file for the receipt"),
    (2, "cp a copy --record ''", SEE_CP),
    (2, "cp a copy --record ..", "write --record FILE"),
    (4, "cp a copy --receipt nowhere/receipt", "check the path"),
    (2, "cp x/ into --record into/run.parquet", "use a separate file, outside the destination"),
    (2, "cp '' b", "name a file, a folder or a URL; an unset variable gives an empty name"),
    (2, "cp a az:demo/x", "write az://... for a URL, or ./az:demo/x for a local file"),
    (2, "cp file:a b", "write file://... for a URL, or ./file:a for a local file"),
    (2, "cp file://host/a b", "write file:///path, or the path alone"),
    (2, "cp a b --cap 0mbit", "write 8kbit or more; leave out the cap for no bound"),
    (
        4,
        "cp x/ into --include nothing",
        "globs match the name below the source; * passes /, and quotes keep it from the shell",
    ),
    (4, "verify empty/ x", "check the name of the source"),
    (2, "verify a /dev/null", "copy it to a file, then compare that"),
    (2, "cp b held/by-a-link/a", "remove the link, or copy to the file it points to"),
    (2, "cp x/ held/by-a-link", "remove the link, or use the file it points to"),
    (2, "cp x/ held/by-a-folder", "remove it, or choose another name; to copy into it add a / to its name"),
    (
        2,
        "cp x/ held/by-a-pipe",
        "to read or write it as a stream, use it as the only source or as the destination",
    ),
    (1, "cp x/ held/by-a-file", "a file has the name that a folder needs; rename or remove it"),
    (6, "cp /proc/sys/kernel/random/ into", "to read it as a stream, use it as the only source"),
    (2, "cp a b --profile ''", "name a profile, or leave out --profile"),
    (2, "cp a copy --record az:x", "write ./az:x for a file of that name"),
    (1, "cp x/a y/a both/", "copy the sources to different folders"),
    (4, "cp no-such-file b", "check the path"),
    (1, "cp a/ b", "check the path and the disk it is on"),
    (1, "cp not-utf-8/ b", "rename the file; object names are UTF-8"),
    (4, "ls no-such-folder", "check the name"),
    (2, "stat x/", f"{LIST} x/"),
    (2, "cat x/", "a stream holds one object; name the object, or copy into a folder"),
    (
        2,
        "rm x",
        "for local files use rm, mkdir and rmdir; for an object write az://container/path or s3://bucket/key",
    ),
    (2, "rm mem://shell/x/", "add -r to remove all below it"),
    (5, "verify a b --json", "check which side is right before you copy again"),
    (5, "verify x y --json", "check which side is right before you copy again"),
    (5, "verify torn.jsonl x", "run the copy again with --receipt to make a new one"),
    (2, "cp --recursive a b", "leave it out: folders are always copied with everything in them"),
    (2, "cp -r a b", "leave it out: folders are always copied with everything in them"),
    (2, "cp -n a b", "use --dry-run"),
    (2, "cp --transfers 32 a b", "leave it out, or use --concurrency: by default it follows the link"),
    (2, "emulate --link rtt=60", "write 60ms"),
    (2, "emulate --listen 10000", "write 127.0.0.1:10000, or port 0 for any free one"),
    (2, "emulate --listen 0.0.0.0:0", "add --allow-remote if you want that"),
    (
        2,
        "emulate --link up=1mbit",
        "write wan, lan, none, or something like rtt=60ms,conn=20mbit,total=1gbit,at=10s:total=2.3mbit",
    ),
    (2, "emulate --faults up=1%", "write something like busy=5%,cut=5%,stall=1%,flip=1%,seed=7"),
    (2, "stat s3:///key", "write s3://bucket/key"),
    (2, "cp a s3://b:c/key", "bucket names have 3 to 63 lower-case letters, digits, dots and hyphens"),
    (2, "stat s3://me:me@b/key", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
    (2, "cp s3:// back", "write s3://bucket/key; haul ls s3:// lists the buckets of an account"),
    (2, "mb s3://", "name a bucket: s3://bucket; haul ls s3:// lists them"),
    (2, "stat s3://b/key --endpoint host", "write the endpoint as https://host[:port][/path]"),
    (2, "stat s3://b/key --region a/b", "write a region such as eu-west-1"),
    (
        3,
        "stat s3://b/key --endpoint http://127.0.0.1:9",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or sign in with: aws sso login; "
        "use --no-sign-request for public buckets",
    ),
    (
        2,
        "stat ftp://host/a",
        "write a local path, az://container/path, s3://bucket/key or https://host/container/path",
    ),
    (2, "stat https://host:port/account/data/a", "write https://host or http://host:port"),
    (2, "stat https://me:me@host/account/data/a", "use AZURE_STORAGE_KEY, a SAS or Entra"),
    (2, "stat https://account.blob.core.windows.net/data/%FF", ADDRESS),
    (
        2,
        "stat https://host",
        "hosts other than ACCOUNT.blob.core.windows.net take the account first: "
        "https://host/account/container",
    ),
    (2, "stat https://host/account/Data/a", NAMES),
    (
        2,
        "stat az://data/a",
        "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, give --endpoint, "
        "or write https://ACCOUNT.blob.core.windows.net/container/path",
    ),
    (
        2,
        "stat az://data/a?sig=x --endpoint https://host/account",
        "write https://ACCOUNT.blob.core.windows.net/container/path?SAS, or set AZURE_STORAGE_SAS_TOKEN",
    ),
    (2, "stat az://data/a --endpoint host", "write the endpoint as https://host[:port][/account]"),
    (
        2,
        "stat az://data/a --endpoint https://host",
        "add it: https://host/account, or set AZURE_STORAGE_ACCOUNT",
    ),
    (
        2,
        "AZURE_STORAGE_CONNECTION_STRING=none stat az://data/a",
        "copy it again from the portal: Storage account, Access keys",
    ),
    (
        3,
        "AZURE_STORAGE_KEY=*** stat https://host/account/data/a",
        "check AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING: "
        "copy it again from the portal, Storage account, Access keys",
    ),
    (
        3,
        "stat https://host/account/data/a",
        "set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY (or AZURE_STORAGE_CONNECTION_STRING, "
        "AZURE_STORAGE_SAS_TOKEN), or add a SAS to the URL",
    ),
    (
        2,
        f"{KEY} stat http://192.0.2.1/account/data/a",
        "use https, or --insecure-http if you trust the network",
    ),
    (
        1,
        f"{KEY} stat http://127.0.0.1:9/account/data/a",
        "is http://127.0.0.1:9 the right address, and is the server running?",
    ),
]

#: What the emulator refuses, or holds.
REMOTE = [
    (4, "cp a az://no-such-container/a", "check the name, or create it with: haul mb az://no-such-container"),
    (4, "cp $az/nothing back", f"{LIST} $az"),
    (4, "cp $az/nothing/ back", f"{LIST} $az"),
    (4, "ls $az/nothing", "check the name"),
    (4, "cp $az/x*.nc back", "names of objects hold no wildcards; write $az/ --include 'x*.nc'"),
    (4, "rm -r $az/x*.nc", "names of objects hold no wildcards; write $az/ --include 'x*.nc'"),
    (4, "rm $az/x*.nc", "names of objects hold no wildcards; write -r $az/ --include 'x*.nc'"),
    (4, "ls $az/x[ab]", "names of objects hold no wildcards; haul ls -r $az/ lists those below"),
    (4, "du $az/x{a,b}", "names of objects hold no wildcards; haul ls -r $az/ lists those below"),
    (4, "stat $az/x*", "names of objects hold no wildcards; haul ls -r $az/ lists those below"),
    (1, "mb $az", "nothing to do, or choose another name"),
    (2, "mb $az/a", "write $az, without a path after it"),
    (2, "mb az://", "name a container: az://container; haul ls az:// lists them"),
    (2, "cp a az:///a", "write az://container/path"),
    (2, "cp az:// back", "write az://container/path; haul ls lists the containers of an account"),
    (
        2,
        "rm -r $az/ --max-delete 1",
        "review them with --dry-run, then raise --max-delete",
    ),
    (2, "rb $az", "add --force to remove them as well; haul du counts them"),
    (2, "rm $az", "add -r to remove every object in it; haul rb removes the container itself"),
    (2, "rm $az/a/", "add -r to remove all below it"),
    (2, "cp - $az/", "write the name of the object after the last /"),
    (2, "cp - $az/a --atomic", "leave out --atomic"),
    (2, "cp $az/ -", "a stream holds one object; name the object, or copy into a folder"),
    (
        1,
        "cp not-utf-8 $az/b/ --atomic --json",
        "fix what failed and run the same command again; staged data is not sent again",
    ),
    (1, "cp $az/odd/ back", "copy this object alone, to a name of your choice"),
    (2, "cp $az/out/ into", "replace the link with a folder, or use its target"),
    (
        5,
        "cat $az/spoilt",
        "what was written may be damaged: discard it, and run the same command again",
    ),
    (
        5,
        "cp $az/spoilt -",
        "what was written may be damaged: discard it, and run the same command again",
    ),
    (5, "verify a $az/nothing --json", COPY_AGAIN),
    (5, "cp $az/md5 back --block-size 64KiB", "no damaged data was kept; run the same command again"),
    (5, "verify receipt.jsonl $az/receipt/ --json", "compare it with its source"),
    (3, "stat $url?$expired", "make a new SAS and run the same command again"),
    (3, "stat $url?$writes", "make a SAS with sp=rw"),
    (
        3,
        "stat $url?sv=2021-12-02&sp=r&sig=AAAA",
        "check that it was copied completely, is for this container, and covers blobs and containers",
    ),
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


@pytest.mark.parametrize(("code", "line", "hint"), LOCAL, ids=[line for _, line, _ in LOCAL])
def test_local(shell: Shell, code: int, line: str, hint: str) -> None:
    shell.expect(code, line, hint)


@pytest.mark.parametrize(("code", "line", "hint"), REMOTE, ids=[line for _, line, _ in REMOTE])
def test_remote(remote: Shell, code: int, line: str, hint: str) -> None:
    remote.expect(code, line, hint)


@pytest.mark.parametrize(
    ("code", "mounts", "hint"),
    [
        (1, "mount -t tmpfs -o size=4k tmpfs into", "free some space, then run the same command again"),
        (
            3,
            "mount --bind into into && mount -o remount,bind,ro into",
            "nothing can be written to this file system; write elsewhere",
        ),
    ],
)
def test_disk(shell: Shell, code: int, mounts: str, hint: str) -> None:
    (shell.haul.folder / "large").write_bytes(bytes(1 << 20))
    shell.expect(code, "cp large into/", hint, in_own_mounts(mounts))


@pytest.mark.parametrize(
    ("output", "hint"),
    [
        ("--receipt", "the copy itself is done; run the same command again for a complete receipt"),
        ("--record", "the copy itself is done; only the record is incomplete"),
    ],
)
def test_disk_of_an_output(shell: Shell, output: str, hint: str) -> None:
    full = in_own_mounts("mount -t tmpfs -o size=4k tmpfs full && head -c 4096 /dev/zero > full/file")
    shell.expect(1, f"cp a copied {output} full/output", hint, full)


def test_a_port_in_use(shell: Shell, emulator: Endpoint) -> None:
    address = urlsplit(emulator.url).netloc
    shell.expect(
        1, f"emulate --listen {address}", "choose another port with --listen; port 0 takes any free one"
    )


def texts_with(words: str, joined: str) -> Iterator[str]:
    """Yield those of many texts, joined by NUL, that have these words: there are too many to look at each."""
    at = joined.find(words)
    while at >= 0:
        end = joined.find("\0", at)
        end = len(joined) if end < 0 else end
        yield joined[joined.rfind("\0", 0, at) + 1 : end]
        at = joined.find(words, end)


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
