"""A small world to run any command line in: a root folder, a service, and a judge of what may have changed in
them.
"""

from __future__ import annotations

import html
import http.client
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

import endpoints
from endpoints import ACCOUNT, Endpoint
from hostile.trees_arguments import MINE, SERVICE, THEIRS, Words
from hostile.trees_forks import BINARY, Forks, Went, furnish
from hostile.trees_ground import Entry, null_device, snapshot
from hostile.trees_runs import DOCUMENTED

#: No run may take longer.
SECONDS_MAX = 20.0
#: A server that was started by chance is asked to end after so long.
SERVED_SECONDS = 0.2

HERE = "/outer/here"
LEFTOVER = ".haul-0123456789abcdef.partial"
#: Every file has a name of its own, so that no copy of one hits another.
FILES = {
    "etc/passwd": b"root:x:0:0::/root:/bin/sh\n",
    "etc/deep/er/settings": b"settings",
    "data/results.nc": b"results",
    f"data/{LEFTOVER}": b"",
    "home/.config/haulage/profiles/office.toml": b"concurrency = 4\n",
    "home/notes": b"notes",
    "outer/above": b"above",
    "outer/beside/victim": b"victim",
    "outer/here/file-1": b"one",
    "outer/here/file-2": bytes(5000),
    "outer/here/tree/leaf-1": b"leaf one",
    "outer/here/tree/deep/leaf-2": b"leaf two",
    f"outer/here/tree/{LEFTOVER}": b"left",
}
LINKS = {
    "outer/here/link-out": "../beside",
    "outer/here/link-file": "../beside/victim",
    "outer/here/tree/round": "..",
    "outer/here/tree/gone": "nowhere",
}
BLOBS = {
    MINE: {
        "x-1": b"x",
        "p/x": b"px",
        "p/deep/y": b"y" * 3000,
        "p//z": b"z",
        "link-out/evil": b"evil",
        "p2": b"p2",
    },
    THEIRS: {"secret": b"secret", "p/x": b"not theirs"},
}

#: These never change anything, whatever they are told.
READERS = {"ls", "stat", "du", "cat", "plan", "completion"}
#: These write local files, where they are told to.
WRITERS = {"cp", "verify", "emulate"}
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")

Blobs = dict[str, dict[str, str]]


class Arena:
    """A root and a service of its own, put right again after every run that changed them."""

    def __init__(self, root: Path, endpoint: Endpoint) -> None:
        self.root, self.endpoint = root, endpoint
        self.port = urlsplit(endpoint.url).port or 0
        self._sas = endpoint.sas()
        self._service = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        self._make_files()
        self._make_blobs({})
        self.files, self.blobs = snapshot(root), self._list()
        by_s3 = endpoints.by_s3(endpoint).env
        env = (
            endpoint.env
            | by_s3
            | {"HOME": "/home", "PATH": "/", "LANG": "C.UTF-8", "TMPDIR": str(root.parent)}
        )
        paths = os.environ.get("PYTHONPATH", "")
        self._forks = Forks(
            root, HERE, env | ({"PYTHONPATH": paths} if paths else {}) | ({"HAUL": BINARY} if BINARY else {})
        )

    def close(self) -> None:
        self._forks.close()
        self._service.close()

    def findings(self, words: Words, seconds: float = SECONDS_MAX) -> list[str]:
        """Run a command line; return what should not have been."""
        serves = b"emulate" in words
        went = self._forks.run(words, seconds, SERVED_SECONDS if serves else None)
        files, blobs = snapshot(self.root), self._list()
        # The emulator's key is public, and it is there to be told.
        found = [
            *_ends(went, () if serves else (endpoints.KEY,)),
            *Judge(words).changes((self.files, self.blobs), (files, blobs)),
        ]
        if files != self.files:
            self._make_files()
            self.files = snapshot(self.root)
        if blobs != self.blobs:
            self._make_blobs(blobs)
            self.blobs = self._list()
        return [f"{finding}\n      {went.said[-600:]!r}" for finding in found]

    def _make_files(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for name, content in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_bytes(content)
        for name, target in LINKS.items():
            (self.root / name).symlink_to(target)
        (self.root / "dev").mkdir()
        null_device(self.root / "dev" / "null")
        furnish(self.root)

    def _make_blobs(self, there: Blobs) -> None:
        for container in there:
            self._ask("DELETE", f"{container}?restype=container")
        for container, blobs in BLOBS.items():
            self._ask("PUT", f"{container}?restype=container")
            for name, content in blobs.items():
                self._ask("PUT", f"{container}/{quote(name)}", content)

    def _list(self) -> Blobs:
        """Return all containers with their blobs and ETags."""
        containers = _tags("Name", self._ask("GET", "?comp=list"))
        found = {}
        for container in containers:
            listed = self._ask("GET", f"{container}?restype=container&comp=list")
            found[container] = dict(zip(_tags("Name", listed), _tags("Etag", listed), strict=True))
        return found

    def _ask(self, verb: str, path: str, body: bytes = b"") -> str:
        url = f"/{ACCOUNT}/{path}{'&' if '?' in path else '?'}{self._sas}"
        self._service.request(verb, url, body, {"x-ms-blob-type": "BlockBlob", "x-ms-version": "2024-11-04"})
        answer = self._service.getresponse()
        text = answer.read().decode()
        assert answer.status in (200, 201, 202), f"{verb} {path}: {answer.status} {text}"
        return text


@contextmanager
def arenas(count: int) -> Iterator[list[Arena]]:
    """Make arenas in memory, where flushing costs nothing."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm")))
            arena = Arena(folder / "root", stack.enter_context(endpoints.emulator(folder)))
            stack.callback(arena.close)
            made.append(arena)
        yield made


def _ends(went: Went, secrets: tuple[str, ...]) -> Iterator[str]:
    if went.code is None:
        yield f"no end after {went.took_s:.0f} s"
    elif went.code not in DOCUMENTED:
        yield f"ended with {went.code}"
    for trace in ("Traceback", "panicked at", "RUST_BACKTRACE"):
        if trace in went.said:
            yield f"said {trace}"
    for secret in secrets:
        if secret in went.said:
            yield "told the key"


class Judge:
    """Says what a command line may change: what it names, and no more."""

    def __init__(self, words: Words) -> None:
        texts = [os.fsdecode(word) for word in words]
        self.verb = next(
            (text for text in texts if text in {*READERS, *WRITERS, "rm", "rb", "mb", "clean"}), ""
        )
        named = [
            name
            for text in texts
            for name in {text, text.partition("=")[2] if text.startswith("--") else text}
        ]
        self.paths = [_resolved(name) for name in named if name and name != "-" and not SCHEME.match(name)]
        self.keys = [key for name in named if (key := _key(name)) is not None]

    def changes(
        self, before: tuple[dict[str, Entry], Blobs], after: tuple[dict[str, Entry], Blobs]
    ) -> Iterator[str]:
        for path in sorted(before[0].keys() | after[0].keys()):
            old, new = before[0].get(path), after[0].get(path)
            if old != new and not self._may_touch(path, old is not None, new is not None):
                yield f"/{path} was {'made' if old is None else 'removed' if new is None else 'changed'}"
        for container in sorted(before[1].keys() | after[1].keys()):
            old_blobs, new_blobs = before[1].get(container), after[1].get(container)
            if (old_blobs is None) != (new_blobs is None) and not self._names(container, "", whole=True):
                yield f"container {container} was {'made' if old_blobs is None else 'removed'}"
                continue
            old_blobs, new_blobs = old_blobs or {}, new_blobs or {}
            for key in sorted(old_blobs.keys() | new_blobs.keys()):
                if old_blobs.get(key) != new_blobs.get(key) and not self._names(container, key):
                    yield f"blob {key!r} of {container} was changed"

    def _may_touch(self, path: str, was: bool, is_: bool) -> bool:
        """Whether a local path may be made, changed or removed."""
        place = "/" + path
        below = any(place == named or place.startswith(named.rstrip("/") + "/") for named in self.paths)
        above = any(named.startswith(place + "/") for named in self.paths)
        if self.verb == "clean":
            return below and was and not is_ and PurePosixPath(path).name == LEFTOVER
        if self.verb not in WRITERS:
            return False
        if not was:
            # A folder on the way to what is named is made with it.
            return below or above
        return is_ and place in self.paths

    def _names(self, container: str, key: str, whole: bool = False) -> bool:
        """Whether a blob, or a whole container, is among what may be changed at the service."""
        if self.verb in READERS or self.verb not in {"cp", "rm", "rb", "mb", "clean"}:
            return False
        for named, prefix in self.keys:
            if named != container or (whole and prefix.strip("/")):
                continue
            below = prefix if prefix.endswith("/") or not prefix else prefix + "/"
            if not prefix.strip("/") or key == prefix or key.startswith(below):
                return not whole or self.verb in {"mb", "rb"}
        return False


def _resolved(name: str) -> str:
    """Return the absolute path of a local name, links not looked at."""
    return "/" + os.path.normpath(f"{HERE}/{name}" if not name.startswith("/") else name).lstrip("/")


def _key(name: str) -> tuple[str, str] | None:
    """Return the container and the key of a name, where it names any."""
    if name.lower().startswith(("az://", "s3://")):
        container, _, key = name[5:].partition("/")
        return container, key
    service = re.match(SERVICE.replace("{port}", r"\d+").replace(".", r"\.") + "/", name)
    if not service:
        return None
    container, _, key = re.split("[?#]", name[service.end() :])[0].partition("/")
    return unquote(container), os.fsdecode(unquote_to_bytes(key))


def _tags(name: str, text: str) -> list[str]:
    """Return the contents of all tags of a name; what XML cannot hold comes percent-encoded."""
    tags = re.findall(f"<{name}( Encoded=.true.)?[^>]*>(.*?)</{name}>", text, re.DOTALL)
    return [unquote(found) if encoded else html.unescape(found) for encoded, found in tags]
