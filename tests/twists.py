"""A door in front of an emulator that answers some requests in its place, or changes what it answers."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

import endpoints
import haulage
from endpoints import S3Endpoint

XML = {"Content-Type": "application/xml"}


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]  #: names in lower case
    body: bytes


@dataclass
class Answer:
    """What is answered."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


def refusal(status: int, code: str, more: str = "", headers: dict[str, str] | None = None) -> Answer:
    """Return an error as S3 answers it."""
    text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>No.</Message>{more}</Error>"
    return Answer(status, XML | (headers or {}), text.encode())


#: In place of the emulator; `None` leaves it to that.
Twist = Callable[[Asked], Answer | None]
#: What becomes of its answer.
Change = Callable[[Asked, Answer], Answer]


@dataclass
class Door:
    """Where it is, and what it has seen."""

    service: S3Endpoint
    seen: list[Asked] = field(default_factory=list)

    def asked(self, method: str, *words: str) -> int:
        """Count the requests with this method and these words in their query."""
        return sum(one.method == method and all(word in one.query for word in words) for one in self.seen)


def first(times: int, answer: Answer, method: str, *words: str, without: str = "") -> Twist:
    """Answer the first so many requests with this method and these words in their query."""
    left, lock = [times], threading.Lock()

    def twist(asked: Asked) -> Answer | None:
        other = asked.method != method or not all(word in asked.query for word in words)
        # To make the bucket is no part of what is tested.
        makes = asked.method == "PUT" and asked.path.count("/") < 2
        if other or makes or (without and without in asked.query):
            return None
        with lock:
            left[0] -= 1
            return answer if left[0] >= 0 else None

    return twist


def signed_anew(behind: str, keys: tuple[str, str], asked: Asked, target: str) -> dict[str, str]:
    """Return the headers of a request that goes on to another path."""
    own = ("authorization", "x-amz-date", "x-amz-content-sha256", "host", "connection")
    headers = {name: value for name, value in asked.headers.items() if name not in own}
    request = AWSRequest(asked.method, f"http://{behind}{target}", headers, asked.body)
    S3SigV4Auth(Credentials(*keys), "s3", "us-east-1").add_auth(request)
    return dict(request.headers.items())


@contextmanager
def door(*twists: Twist, change: Change | None = None, faults: str = "", below: str = "") -> Iterator[Door]:
    """Open a door to a new emulator, which has everything below a path."""
    with haulage.Emulator(faults=faults) as emulator:
        inner = endpoints.by_s3(endpoints.Endpoint("emulator", emulator.endpoint, emulator.connection_string))
        behind = urlsplit(inner.url).netloc
        seen: list[Asked] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                parts = urlsplit(self.path)
                query = parse_qs(parts.query, keep_blank_values=True)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, parts.path, query, headers, body)
                seen.append(asked)
                for twist in twists:
                    answer = twist(asked)
                    if answer is not None:
                        self.reply(answer)
                        return
                connection = http.client.HTTPConnection(behind, timeout=60)
                # With the host that was signed.
                target, sent = self.path, dict(self.headers.items())
                if below:
                    target = target.removeprefix(below) or "/"
                    target = target if target.startswith("/") else f"/{target}"
                    sent = signed_anew(behind, inner.keys, asked, target)
                connection.request(self.command, target, body or None, sent)
                response = connection.getresponse()
                # What concerns the connection or the length of the body is said anew.
                own = ("transfer-encoding", "connection", "date")
                length = () if self.command == "HEAD" else ("content-length",)
                kept = {n: v for n, v in response.getheaders() if n.lower() not in (*own, *length)}
                answer = Answer(response.status, kept, response.read())
                connection.close()
                self.reply(change(asked, answer) if change else answer)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on  # noqa: N815

            def reply(self, answer: Answer) -> None:
                self.send_response(answer.status)
                length = {"Content-Length": str(len(answer.body))} if self.command != "HEAD" else {}
                for name, value in (answer.headers | length).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer.body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            server.daemon_threads = True
            thread = threading.Thread(target=server.serve_forever, args=(0.02,))
            thread.start()
            try:
                url = f"http://127.0.0.1:{server.server_port}"
                yield Door(S3Endpoint("door", url + below, inner.keys), seen)
            finally:
                server.shutdown()
                thread.join()
