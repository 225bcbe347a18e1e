"""Random command lines: any verb, with names and values that mean nothing, too much, or something else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Words = list[bytes]

#: In the words below: the container that may be named, one that is only reached by a trick, and the service.
MINE, THEIRS, SERVICE = "mine", "theirs", "http://127.0.0.1:{port}/devstoreaccount1"
#: The same containers, as buckets.
S3_SERVICE = "http://127.0.0.1:{port}"

S3_STORE = ("--region", "--addressing", "--no-sign-request", "--requester-pays")
STORE = ("--endpoint", "--insecure-http", "--proxy", "--ca", "--stall-timeout", "--cap", *S3_STORE)
OUTPUT = ("--json", "-q", "--quiet", "--progress", "-h")
SELECT = ("--include", "--exclude", "--symlinks")
TRANSFER = (
    "--concurrency",
    "--block-size",
    "--single-put-max",
    "--method",
    "--checksum",
    "--content-md5",
    "--max-memory",
    "--polite",
    "--profile",
)
DELETING = ("--dry-run", "--max-delete", "--include", "--exclude")

#: Every verb with the options that it knows, and how many names it takes.
VERBS: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {
    "cp": (
        (*TRANSFER, *SELECT, *STORE, "--overwrite", "--record", "--receipt", "--atomic", "--no-flush"),
        (2, 2, 2, 3),
    ),
    "verify": ((*TRANSFER, *SELECT, *STORE, "--record", "--stored", "--deep"), (2,)),
    "plan": ((*TRANSFER, *SELECT, *STORE, "--overwrite"), (2, 3)),
    "ls": (("-r", "--recursive", "--bytes", *STORE), (1,)),
    "stat": (STORE, (1, 2)),
    "du": (("--bytes", *STORE), (1, 2)),
    "cat": (STORE, (1, 2)),
    "rm": (("-r", "--recursive", *DELETING, *STORE), (1, 1, 2)),
    "mb": (STORE, (1,)),
    "rb": (("--force", "--dry-run", "--max-delete", *STORE), (1,)),
    "clean": ((*DELETING, *STORE), (1, 1, 2)),
    "completion": ((), (1,)),
    "emulate": (
        ("--listen", "--store", "--link", "--faults", "--tls-cert", "--tls-key", "--allow-remote"),
        (0,),
    ),
}

#: The first of each is one that makes sense.
SIZES = (
    "8MiB",
    "1KiB",
    "0",
    "0B",
    "1B",
    "-1",
    "8",
    "1e9GiB",
    "99999999999999999999GiB",
    "auto",
    "NaN",
    "1.5MiB",
    " ",
    "∞",
)
NUMBERS = ("4", "0", "1", "-1", "1e3", "auto", "100000", "99999999999999999999", "0x10", "NaN")
RATES = ("500mbit", "0mbit", "0", "1bit", "7kbit", "1e400gbit", "-5mbit", "99999999999gbit", "mbit", "NaN")
DURATIONS = ("2s", "0s", "1ns", "1ms", "30", "-1s", "1e99s", "99999999999999h", "NaN")
GLOBS = ("*", "**", "[", "[!", "{a", "*.none", "leaf*", "\\", "?" * 50, "../*", "/", "*" * 500)
ENDPOINTS = (
    SERVICE,
    S3_SERVICE,
    S3_SERVICE + "/",
    "http://me:me@127.0.0.1:{port}",
    "s3://",
    SERVICE + "/",
    "http://",
    "az://",
    "ftp://host",
    "://",
    "http://[::1",
    SERVICE + "?x=y",
    "/",
    ".",
)
PROXIES = (
    "none",
    "http://127.0.0.1:{port}",
    "https://me:me@h:1",
    "socks5://h",
    "",
    "h:99999",
    "@",
    "://",
    "%",
)

REGIONS = ("us-east-1", "eu-west-1", "", "evil.example", "..", "a b", "x" * 65, "-", "US-EAST-1", "@h", "a/b")

#: What an option takes, where that is no name and no word of its own.
VALUES: dict[str, tuple[str, ...]] = {
    "--endpoint": ENDPOINTS,
    "--proxy": PROXIES,
    "--region": REGIONS,
    "--addressing": ("path", "auto", "virtual", "both", ""),
    "--stall-timeout": DURATIONS,
    "--cap": RATES,
    "--include": GLOBS,
    "--exclude": GLOBS,
    "--symlinks": ("skip", "follow", "both"),
    "--concurrency": NUMBERS,
    "--block-size": SIZES,
    "--single-put-max": SIZES,
    "--method": ("auto", "whole", "ranges", "none"),
    "--checksum": ("crc64", "md5", "none", "sha1"),
    "--max-memory": SIZES,
    "--overwrite": ("if-different", "always", "never", "yes"),
    "--progress": ("auto", "bar", "plain", "none", "all"),
    "--max-delete": NUMBERS,
    "--listen": ("127.0.0.1:0", "", "x", "127.0.0.1:99999", "localhost:0", "127.0.0.1", "0.0.0.0:0", "[::"),
    "--link": ("none", "wan", "rtt=1ms", "rtt=-1ms", "total=0bit", "x=y", "rtt=1e99s"),
    "--faults": ("none", "busy=5%", "busy=500%", "busy=-1%", "cut", "flip=NaN%"),
    "--store": ("memory", "null", "new-store", "file-1", "..", "/", ""),
}
NAMED = ("--record", "--receipt", "--profile", "--ca", "--tls-cert", "--tls-key")
ALL_OPTIONS = tuple({option: None for options, _ in VERBS.values() for option in (*options, *OUTPUT)})

#: Names that are there, or may be.
GOOD = (
    *(
        "az://mine/p/",
        "az://mine/",
        "az://mine/x-1",
        "az://mine/new",
        "az://mine",
        SERVICE + "/mine/p/",
        "az://new-one",
    ),
    *("tree", "file-1", "new", "new/", ".", "tree/deep/", "az://mine/p/deep/y"),
    *("s3://mine/p/", "s3://mine/", "s3://mine/x-1", "s3://mine/new", "s3://mine", "s3://new-one"),
)
#: Names that mean nothing, too much, or something else; each as it may be typed.
LOCAL = (
    *(
        "",
        ".",
        "..",
        "/",
        "//",
        "///",
        "./",
        "../",
        "../..",
        "./.",
        "/.",
        "/..",
        "tree",
        "tree/",
        "file-1",
        "new",
    ),
    *(
        "new/",
        "new/deep/er",
        "new/../..",
        "../beside",
        "/etc",
        "/outer/",
        "/nowhere/x",
        "link-out",
        "link-file",
    ),
    *(
        "~",
        "~root",
        "*",
        "?",
        "#",
        "-",
        "--",
        "-r",
        "--force",
        "--json",
        "-rf",
        " ",
        "\n",
        "\t",
        "%2e%2e",
        "%2e%2e/x",
    ),
    *(
        "%00",
        "$HOME",
        "`id`",
        "a\\b",
        "\x1b[31m",
        "right\u202eleft",
        "zero\u200bwidth",
        "\ufeff",
        "é",
        "e\u0301",
    ),
    *("x" * 300, "x" * 5000, "/" * 3000, "a/../" * 60 + "b", "tree/" * 100, ".haul-0123456789abcdef.partial"),
    *("/dev/null", "tree/leaf-1", "tree/leaf-1/x", "./az:x", "C:\\x", "con", "nul"),
)
FOREIGN = (
    *(
        "az:",
        "az:/",
        "az:demo/x",
        "az://",
        "az:///",
        "az:////x",
        "AZ://",
        "az:///../x",
        "s3:b/k",
        "s3://b/k",
        "S3://b",
    ),
    *(
        "gs://b/k",
        "abfs:x",
        "file:x",
        "file:",
        "http:",
        "http:x",
        "https:/x",
        "ftp://h/x",
        "a+b:x",
        "az//mine",
        "mem:x",
    ),
)
MINE_NAMES = (
    *(
        "az://mine",
        "az://mine/",
        "az://mine//",
        "az://mine//x",
        "az://mine/p/",
        "az://mine/p",
        "az://mine/p/x",
    ),
    *(
        "AZ://mine/p/",
        "az://mine/none",
        "az://mine/none/",
        "az://mine/../theirs",
        "az://mine/../theirs/secret",
    ),
    *(
        "az://mine/./x",
        "az://mine/p/../../theirs/",
        "az://mine/..",
        "az://mine/.",
        "az://mine/%2e%2e/theirs/secret",
    ),
    *(
        "az://mine/%2e%2e/x",
        "az://mine/p%2f..",
        "az://mine?sig=x",
        "az://mine/p?comp=list",
        "az://mine/#",
        "az://new-one",
    ),
    *(
        "az://mine/\n",
        "az://mine/\x1b[31m",
        "az://mine/" + "k" * 1025,
        "az://mine/" + "k/" * 400,
        "az://-",
        "az://MINE",
    ),
    *(
        "az://user:pass@mine/p",
        "az://mine:80/p",
        "az://$root",
        "az://mine/-r",
        "az://..",
        "az://../theirs",
        "az://%2e%2e",
    ),
    *(
        SERVICE,
        SERVICE + "/",
        SERVICE + "//",
        SERVICE + "/mine",
        SERVICE + "/mine/p/",
        SERVICE + "/mine/%2e%2e/theirs",
    ),
    *(
        SERVICE + "/mine/%2e%2e/theirs/secret",
        SERVICE + "/mine/../theirs/",
        SERVICE + "/mine/a%00b",
        SERVICE + "//mine",
    ),
    *(
        SERVICE + "/mine/p%2fx",
        SERVICE + "/mine/%ff",
        SERVICE + "/mine?restype=container",
        SERVICE + "/mine/p/#x",
    ),
    *(
        SERVICE + "/mine/%2e%2e%2ftheirs%2fsecret",
        SERVICE + "/mine/%252e%252e/theirs",
        "http://127.0.0.1:{port}/",
    ),
)
S3_NAMES = (
    *(
        "s3://",
        "s3:/",
        "s3:",
        "s3:///",
        "s3:////x",
        "S3://mine/p/",
        "s3:mine/p",
        "s3://mine//",
        "s3://mine//x",
    ),
    *(
        "s3://mine/p",
        "s3://mine/p//",
        "s3://mine/none",
        "s3://mine/none/",
        "s3://mine/p2",
        "s3://mine/p/deep/y",
    ),
    *("s3://mine/../theirs", "s3://mine/../theirs/secret", "s3://mine/./x", "s3://mine/p/../../theirs/"),
    *(
        "s3://mine/..",
        "s3://mine/.",
        "s3://mine/%2e%2e/theirs/secret",
        "s3://mine/p%2f..",
        "s3://mine%2ftheirs",
    ),
    *(
        "s3://..",
        "s3://../theirs",
        "s3://.",
        "s3://%2e%2e",
        "s3://mine?delete",
        "s3://mine/?delete",
        "s3://mine/p?x",
    ),
    *(
        "s3://mine/?uploads",
        "s3://mine/x-1?uploadId=x",
        "s3://mine/?list-type=2&prefix=",
        "s3://mine/#",
        "s3://*",
    ),
    *(
        "s3://mine/*",
        "s3://mine/\n",
        "s3://mine/\x1b[31m",
        "s3://mine/" + "k" * 1025,
        "s3://mine/" + "k/" * 400,
    ),
    *(
        "s3://-",
        "s3://MINE",
        "s3://min",
        "s3://mine2",
        "s3://mine.theirs",
        "s3://me:me@mine/p",
        "s3://@mine/p",
    ),
    *(
        "s3://mine:80/p",
        "s3://127.0.0.1:{port}/mine",
        "s3://$root",
        "s3://mine/-r",
        "s3://mine --force",
        " s3://mine",
    ),
    *(
        "s3://mine\\p",
        "s3:\\\\mine",
        "s3n://mine/p/",
        "s3a://mine/p/",
        "arn:aws:s3:::mine/p",
        "./s3://mine/p",
    ),
    *(S3_SERVICE, S3_SERVICE + "/mine", S3_SERVICE + "/mine/p/", S3_SERVICE + "/mine/?delete"),
)
#: Bytes that are no text.
BYTES = (
    b"\xff",
    b"\xff\xfe/x",
    b"az://mine/\xff",
    b"s3://mine/\xff",
    b"s3://\xff/x",
    b"tree/\xc3",
    b"--\xff",
    b"--include=\xff",
    b"\xed\xa0\x80",
)


def lines(seed: int, port: int) -> Iterator[Words]:
    """Yield command lines without end; the same for the same seed, and for each its number decides alone."""
    number = 0
    while True:
        yield line(random.Random(f"{seed}-{number}"), port)
        number += 1


def line(rng: random.Random, port: int) -> Words:
    """Return a random command line, without the command."""
    verb = rng.choice([*VERBS, "cp", "cp", "rm", "rm", "clean", "verify"])
    own, counts = VERBS[verb]
    # A line of nothing but oddities is refused for the first of them: most have one or two.
    odd = rng.choice((0.1, 0.3, 0.3, 1.0))
    extra = rng.choice((-1, 1)) if rng.random() < 0.15 * odd else 0
    words = [name(rng, port, odd) for _ in range(max(0, rng.choice(counts) + extra))]
    if verb == "completion":
        words = [rng.choice((b"bash", b"zsh", b"fish", b"x", *words))]
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        options = rng.choice((OUTPUT, ALL_OPTIONS)) if rng.random() < odd / 2 else own or OUTPUT
        at = rng.randint(0, len(words))
        words[at:at] = option(rng, rng.choice(options), port, odd)
    if rng.random() < 0.15 * odd and words:
        words.insert(rng.randint(0, len(words)), rng.choice(words))
    if verb == "rm" and rng.random() < 0.5:
        words.insert(0, b"-r")
    if verb == "rb" and rng.random() < 0.5:
        words.insert(0, b"--force")
    words.insert(0, verb.encode())
    if rng.random() < 0.1 * odd:
        rng.shuffle(words)
    return words


def name(rng: random.Random, port: int, odd: float) -> bytes:
    if rng.random() > odd:
        return _bytes(rng.choice(GOOD), port)
    kind = rng.random()
    if kind < 0.02:
        return rng.choice(BYTES)
    names = LOCAL if kind < 0.34 else FOREIGN if kind < 0.44 else MINE_NAMES if kind < 0.72 else S3_NAMES
    return _bytes(rng.choice(names), port)


def option(rng: random.Random, option: str, port: int, odd: float) -> Words:
    """Return an option, mostly with a value if it takes one."""
    if option in NAMED:
        value = name(rng, port, odd)
    elif option in VALUES:
        values = VALUES[option]
        value = _bytes(rng.choice(values) if rng.random() < odd else values[0], port)
        if rng.random() < odd / 5:
            value = name(rng, port, 1.0)
    else:
        return [option.encode()] if rng.random() > odd / 5 else [option.encode() + b"=", b"x"]
    if rng.random() < odd / 10:
        return [option.encode()]
    return [option.encode(), value] if rng.random() < 0.5 else [option.encode() + b"=" + value]


def _bytes(text: str, port: int) -> bytes:
    return text.replace("{port}", str(port)).encode("utf-8", "surrogateescape")


def shrunk(words: Words, fails: Callable[[Words], object]) -> Words:
    """Return the line with as many words left out as it takes to fail still."""
    at = 0
    while at < len(words):
        fewer = words[:at] + words[at + 1 :]
        if fails(fewer):
            words = fewer
        else:
            at += 1
    return words
