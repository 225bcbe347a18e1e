"""Where an experiment moves files to: a URL, or an emulated endpoint over a link as good as asked for.

Emulated endpoints are processes of their own (``haul emulate``), so that their processor time is not
taken for the mover's.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import quote, urlsplit

from haulage import children
from haulage.errors import ServiceError, UsageError
from haulage.lab.link import NAMED, PACKETS, Link, parse_link

if TYPE_CHECKING:
    from haulage.options import Options

CONTAINER = "lab"
_EMULATED = "emulated:"
#: Ample for the command to start on a busy machine.
_START_S = 30.0


@dataclass(frozen=True)
class Target:
    """What was asked for, before anything is started.

    Attributes:
        text: As it was written, such as ``"emulated:wan"`` or ``"packets:rtt=80ms,total=200mbit"``; a URL
            without its secret.
        url: The URL with its secret, or ``None`` for an emulated one.
        link: The link's specification, or ``None`` for a URL.
        faults: The faults' specification, or ``None`` for a URL.
        insecure_http: Whether plain http to another machine is allowed.
    """

    text: str
    url: str | None
    link: str | None
    faults: str | None
    insecure_http: bool = False

    @property
    def emulated(self) -> bool:
        """Whether the endpoint is one of ours."""
        return self.url is None

    @property
    def of_packets(self) -> bool:
        """Whether the links to it carry real packets."""
        return self.link is not None and self.link.startswith(PACKETS)

    def link_of(self, own: str | None) -> str:
        """Return the link of a cell: its own if it has one, of packets where the target's are."""
        if own is None:
            return self.link or "none"
        return f"{PACKETS}{own}" if self.of_packets and not own.startswith(PACKETS) else own

    @property
    def shape(self) -> Link | None:
        """What the link can carry, where it is known."""
        return None if self.link is None else parse_link(self.link)


def parse_target(text: str, *, faults: str = "none", insecure_http: bool = False) -> Target:
    """Read ``emulated:wan``, ``packets:rtt=60ms,total=1gbit``, or the URL of a container or prefix.

    Raises:
        UsageError: Neither of the two, or plain http to another machine, which nobody has allowed.
    """
    if text.startswith(_EMULATED):
        spec = text.removeprefix(_EMULATED)
        link = NAMED[spec] or "none" if spec in NAMED else spec
        parse_link(link)
        return Target(text, None, link, faults)
    if text.startswith(PACKETS):
        parse_link(text)
        return Target(text, None, text, faults)
    if "://" in text and text.split("://")[0] in ("http", "https", "az"):
        if faults not in ("", "none"):
            raise UsageError(
                "read target", text.split("?")[0], "faults are for emulated endpoints", "leave them out"
            )
        if not insecure_http:
            need_privacy(text)
        return Target(text.split("?")[0], text, None, None, insecure_http)
    raise UsageError(
        "read target",
        text.split("?")[0],
        "neither emulated nor a URL",
        "write emulated:wan, emulated:rtt=20ms,total=1gbit, packets:rtt=20ms,total=1gbit, or"
        " https://HOST/CONTAINER/PREFIX?SAS",
    )


def need_privacy(url: str) -> None:
    """Raise for plain http to another machine. The engine refuses it too, but the other movers do not.

    Raises:
        UsageError: It is that, or no URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UsageError("read target", url.partition("?")[0], "not a URL", "check its host") from None
    host = parts.hostname or ""
    if parts.scheme != "http" or host == "localhost" or host.endswith(".localhost"):
        return
    with suppress(ValueError):
        if ip_address(host).is_loopback:
            return
    shown = f"http://{parts.netloc.rpartition('@')[2]}"
    cause = "this is plain http: anybody on the way can read and change it"
    raise UsageError("read target", shown, cause, "use https, or --insecure-http if you trust the network")


@dataclass(frozen=True)
class Endpoint:
    """A place below which blobs are written and read."""

    base: str  #: URL of the container or prefix, without the secret and without a slash at the end
    query: str  #: the SAS without ``?``; empty if credentials come from the environment
    connection_string: str | None = None  #: for tools that want one; emulated endpoints only
    _process: subprocess.Popen[bytes] | None = None
    proxy: str = ""  #: of a table: the address of a proxy before it; ``base`` is the table's own
    proxy_host: str = ""  #: what the proxy takes for its own name
    insecure_http: bool = False  #: whether plain http to it is allowed, though it is on another machine

    @property
    def reach(self) -> Options:
        """How the engine reaches it."""
        return {"insecure_http": True} if self.insecure_http else {}

    @property
    def reach_words(self) -> list[str]:
        """The same as options of the command."""
        return ["--insecure-http"] if self.insecure_http else []

    def url(self, name: str) -> str:
        """Return the URL of a blob, with what it takes to reach it."""
        tail = f"?{self.query}" if self.query else ""
        return f"{self.base}/{quote(name)}{tail}"

    def http_url(self, name: str) -> str:
        """As :meth:`url`, for clients that speak plain HTTP and cannot sign.

        Raises:
            UsageError: The URL carries no SAS.
        """
        if not self.query or urlsplit(self.base).scheme == "az":
            raise UsageError(
                "run arm",
                self.base,
                "a plain client needs a URL with a SAS",
                "give the target as https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX?SAS",
            )
        return self.url(name)

    def at(self, url: str, process: subprocess.Popen[bytes] | None = None) -> Endpoint:
        """Return the same place by another way in: the scheme and host of ``url``."""
        way = urlsplit(url)
        base = urlsplit(self.base)._replace(scheme=way.scheme, netloc=way.netloc).geturl()
        return Endpoint(base, self.query, None, process, insecure_http=self.insecure_http)

    def cpu_ns(self) -> int:
        """Return the processor time that the process behind it has taken; 0 if there is none."""
        if self._process is None:
            return 0
        import psutil

        times = psutil.Process(self._process.pid).cpu_times()
        return int((times.user + times.system) * 1e9)

    def pin(self, cpus: Sequence[int]) -> None:
        """Let the process behind it, if there is one, run on these processors only."""
        if self._process is None or not hasattr(os, "sched_setaffinity"):
            return
        import psutil

        for thread in psutil.Process(self._process.pid).threads():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, cpus)

    def close(self) -> None:
        """Stop the process behind it, if there is one."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            for pipe in (self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()


class Endpoints:
    """Starts emulated endpoints as they are asked for, keeps them, and stops all at the end."""

    def __init__(self, target: Target, prefix: str) -> None:
        self._target = target
        self._prefix = prefix
        self._kept: dict[tuple[str, str], Endpoint] = {}
        self._relays: dict[tuple[str, str, int], Endpoint] = {}

    def get(self, *, store: str, link: str | None = None, via: str | None = None) -> Endpoint:
        """Return the endpoint with this store and link, by a way out; the target's if none is given."""
        found = self._straight(store, link)
        if via is None:
            return found
        if via.startswith(("http://", "https://")):
            if not self._target.insecure_http:
                need_privacy(via)
            return found.at(via)
        return self.by_way(found, via)

    @property
    def emulated(self) -> bool:
        """Whether they are ours."""
        return self._target.emulated

    def by_way(self, endpoint: Endpoint, via: str, who: int = 0) -> Endpoint:
        """Return an endpoint as it is reached by a way out; of each ``who`` the way is its own."""
        key = (urlsplit(endpoint.base).netloc, via, who)
        if key not in self._relays:
            self._relays[key] = start_relay(endpoint, via)
        return self._relays[key]

    def _straight(self, store: str, link: str | None) -> Endpoint:
        if self._target.url is not None:
            base, _, query = self._target.url.partition("?")
            allowed = self._target.insecure_http
            return Endpoint(f"{base.rstrip('/')}/{self._prefix}", query, insecure_http=allowed)
        spec = self._target.link_of(link)
        if (store, spec) not in self._kept:
            self._kept[store, spec] = start_emulator(store=store, link=spec, faults=self._target.faults)
        return self._kept[store, spec]

    def drop(self, *, store: str, link: str | None = None) -> None:
        """Stop one, so that the next :meth:`get` begins its link anew."""
        endpoint = self._kept.pop((store, self._target.link_of(link)), None)
        if endpoint is not None:
            for key in [key for key in self._relays if key[0] == urlsplit(endpoint.base).netloc]:
                self._relays.pop(key).close()
            endpoint.close()

    def close(self) -> None:
        """Stop all of them."""
        while self._relays:
            self._relays.popitem()[1].close()
        while self._kept:
            self._kept.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def start_emulator(*, store: str, link: str = "none", faults: str | None = None) -> Endpoint:
    """Start ``haul emulate`` on a free port and make the container.

    Raises:
        UsageError: A specification that does not parse.
        ServiceError: It did not start.
    """
    options = ["--listen", "127.0.0.1:0", "--json", "--store", store, "--link", link]
    if faults and faults != "none":
        options += ["--faults", faults]
    if link.startswith(PACKETS):
        options.append("--here")  # Where this process is, so that it reaches all of them.
    process = children.start(
        [*haul(), "emulate", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=plain_environment(),
        # Ctrl-C is for the lab, which then stops this in order.
        start_new_session=True,
    )
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_S)
    line = json.loads(process.stdout.readline() or "{}") if ready else {}
    if "endpoint" not in line:
        process.kill()
        said = process.communicate()[1].decode(errors="replace").strip()
        if line.get("kind") == "usage":
            raise UsageError("emulate", line["object"], line["cause"], line["hint"])
        raise ServiceError("emulate", f"link {link}", said or "did not start", "try `haul emulate` by hand")
    endpoint = Endpoint(
        f"{line['endpoint'].rstrip('/')}/{CONTAINER}", line["sas"], line["connection_string"], process
    )
    _make_container(endpoint)
    return endpoint


def start_relay(endpoint: Endpoint, via: str) -> Endpoint:
    """Start what carries connections to the endpoint by another way out.

    Raises:
        ServiceError: It did not start, such as for a namespace that is not there.
    """
    where = urlsplit(endpoint.base)
    process = children.start(
        [sys.executable, "-m", "haulage.lab.relay", where.hostname or "", str(where.port or 80), via],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], _START_S)
    port = process.stdout.readline().strip() if ready else b""
    if not port:
        process.kill()
        said = process.communicate()[1].decode(errors="replace").strip()
        hint = "a namespace needs root and `ip netns add NAME`; a proxy is proxy:HOST:PORT"
        raise ServiceError("relay", via, said or "did not start", hint)
    return endpoint.at(f"http://127.0.0.1:{int(port)}", process)


def haul() -> list[str]:
    """Return how to start the command of this very installation."""
    return [sys.executable, "-m", "haulage"]


def plain_environment() -> dict[str, str]:
    """Return the environment for it, in which it takes no options but those that it is given."""
    return {**os.environ, "HAULAGE_DEFAULTS": "none"}


def remove_below(endpoint: Endpoint, prefix: str = "") -> None:
    """Remove what an experiment has left at a real endpoint.

    Raises:
        ServiceError: It could not.
    """
    url = endpoint.url(prefix)
    ran = subprocess.run(
        [*haul(), "rm", "-r", "--quiet", *endpoint.reach_words, url],
        capture_output=True,
        check=False,
        env=plain_environment(),
    )
    if ran.returncode not in (0, 4):
        said = ran.stderr.decode(errors="replace").strip()
        raise ServiceError("remove", endpoint.base, said, "remove it by hand with haul rm -r")


def _make_container(endpoint: Endpoint) -> None:
    # By a request of its own: a link that changes with time is as old as its first connection.
    where = urlsplit(endpoint.base)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=_START_S)
    try:
        headers = {"x-ms-version": "2021-12-02", "Content-Length": "0"}
        line.request("PUT", f"{where.path}?restype=container&{endpoint.query}", headers=headers)
        answer = line.getresponse()
        said = answer.read().decode(errors="replace")
    finally:
        line.close()
    # One that is there already is what a folder keeps between two starts.
    if answer.status not in (201, 409):
        raise ServiceError("make container", endpoint.base, f"{answer.status} {said.strip()}", None)
