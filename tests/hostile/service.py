"""A service that answers honestly until a case bends what it says, over http and https.

`blobs` knows the honest answer of a Blob service, `objects` that of S3 and `rows` that of a Table service,
`wire` says whatever it is told to say. Between them stands a bend: a function of the request and the honest
answer that returns another answer, or the very pieces to be said. Whatever was asked is kept, so that a
test can see what the client sent, and to whom.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hostile.blobs import Blobs
from hostile.objects import Objects
from hostile.rows import Tables
from hostile.wire import CLOSE, Answer, Conversation, GoneError, Piece, Request, Wait

HOST = "127.0.0.1"

Store = Blobs | Objects | Tables
#: What the service is, by the scheme of its names.
STORES: dict[str, type[Store]] = {"az": Blobs, "s3": Objects, "az-table": Tables}

Said = Answer | Iterable[Piece]
Bend = Callable[[Request, Answer], Said]


@dataclass(frozen=True)
class Manners:
    """How a service meets who connects, before any request."""

    tls: ssl.SSLContext | None = None
    silent: bool = False  #: says nothing at all, not even hello
    sip: Wait | None = None  #: reads bodies so slowly
    #: What every connection is told at once.
    greeting: bytes = b""


class Service:
    """A service on a port of its own."""

    def __init__(self, blobs: Store, bends: Sequence[Bend] = (), manners: Manners | None = None) -> None:
        self.blobs = blobs
        self.requests: list[Request] = []
        self.connections = 0
        self.elsewhere = ""
        self._bends = bends
        self._manners = manners or Manners()
        self._turns: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._open: dict[Conversation, threading.Thread] = {}
        self._listening = socket.create_server((HOST, 0), backlog=64)
        if self._manners.sip:
            # Before the connections, which inherit it: a window that is full at once.
            self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._port = self._listening.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    @property
    def url(self) -> str:
        """Where the service is."""
        return f"{'https' if self._manners.tls else 'http'}://{HOST}:{self._port}{self.blobs.path}"

    @property
    def secure_url(self) -> str:
        """The same, as somebody writes it who takes it for a service with TLS."""
        return self.url.replace("http://", "https://")

    def asked(self, *apis: str) -> list[Request]:
        """Return the requests of these kinds."""
        return [request for request in self.requests if request.api in apis]

    def end(self) -> None:
        """End all conversations."""
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join(5)
        for conversation, thread in list(self._open.items()):
            conversation.close()
            thread.join(5)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connected, _ = self._listening.accept()
            except OSError:
                return
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            conversation = Conversation(connected, self._ended)
            thread = threading.Thread(target=self._serve, args=(connected, conversation), daemon=True)
            self._open[conversation] = thread
            thread.start()

    def _serve(self, connected: socket.socket, conversation: Conversation) -> None:
        # A client that goes away, or does not trust us, ends only its own conversation.
        with contextlib.suppress(GoneError, OSError):
            if self._manners.silent:
                self._ended.wait()
                return
            if self._manners.greeting:
                connected.sendall(self._manners.greeting)
            elif self._manners.tls:
                connected = self._manners.tls.wrap_socket(connected, server_side=True)
                conversation.over(connected)
            while (request := conversation.request(self._manners.sip)) is not None:
                if not conversation.say(self._answer(self._note(request))):
                    break
        conversation.hang_up()

    def _note(self, request: Request) -> Request:
        named = self.blobs.named(request)
        with self._lock:
            self._turns[named.api] += 1
            noted = replace(named, turn=self._turns[named.api], elsewhere=self.elsewhere)
            self.requests.append(noted)
        return noted

    def _answer(self, request: Request) -> Iterable[Piece]:
        said: Said = self.blobs.answer(request) if request.api != "unknown" else Answer(400)
        for bend in self._bends:
            if isinstance(said, Answer):
                said = bend(request, said)
        if not isinstance(said, Answer):
            return said
        return spoken(request, said)


def spoken(request: Request, answer: Answer) -> Iterator[Piece]:
    """Yield an answer as it is said to this request."""
    yield answer.head() + (b"" if request.method == "HEAD" else answer.body)
    if answer.version == "HTTP/1.0" or answer.header("connection") == "close":
        yield CLOSE


@contextlib.contextmanager
def serve(
    contents: Mapping[str, bytes],
    bends: Sequence[Bend] = (),
    manners: Manners | None = None,
    page_size: int = 5000,
    scheme: str = "az",
) -> Iterator[tuple[Service, Service]]:
    """Serve blobs by `container/key`; with a second service that nobody may ever talk to."""
    store = STORES[scheme]
    service, elsewhere = Service(store(contents, page_size), bends, manners), Service(store({}, 1))
    service.elsewhere = elsewhere.url
    try:
        yield service, elsewhere
    finally:
        service.end()
        elsewhere.end()
