"""Behind a proxy: what goes through it and what does not, who it is told that we are, and what it says no to.

The proxy is one of the tests' own (`proxies`), and leads every name to this machine. `store.test` has no
other address, so what arrives there has come through the proxy.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import duckdb
import pytest

import endpoints
import fake_service
import haulage
import proxies
import trees
from command import Haul, Result, in_own_mounts
from endpoints import Endpoint
from proxies import Proxy
from sentences import Sentence
from shell import Shell, lay_out

STORE, LOGIN = "store.test", "login.test"
USER = "someone:tr0ub4dor&3/secret"
#: As it is written in a URL.
WRITTEN = "someone:tr0ub4dor%263%2Fsecret"
ENCODED = base64.b64encode(USER.encode()).decode()
SECRETS = ["tr0ub4dor", ENCODED.rstrip("="), endpoints.KEY]
DEAD = "http://127.0.0.1:9"


def by_name(endpoint: Endpoint, name: str = STORE) -> Endpoint:
    """Return the endpoint as it is called by a name that only the proxy knows."""
    url = endpoint.url.replace("127.0.0.1", name)
    return Endpoint(endpoint.name, url, endpoint.connection_string.replace("127.0.0.1", name))


def port(endpoint: Endpoint) -> str:
    return endpoint.url.split(":")[2].split("/")[0]


class StartProxy:
    """Start proxies, of https too, and keep the certificates to trust in one file."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.ca = folder / "ca.pem"
        self.ca.write_text("")

    def __call__(self, login: str = "", scheme: str = "http") -> Proxy:
        certificate = self.folder / "proxy.pem" if scheme == "https" else None
        started = self.stack.enter_context(proxies.proxy(login, certificate))
        if certificate is not None:
            self.trust(certificate)
        return started

    def endpoint(self, scheme: str) -> Endpoint:
        """Start an endpoint that `STORE` is the name of."""
        tls = None
        if scheme == "https":
            certificate = self.folder / "store.pem"
            tls = (certificate, fake_service.make_certificate(certificate, STORE))
            self.trust(certificate)
        return self.stack.enter_context(endpoints.emulator(self.folder, tls=tls))

    def trust(self, certificate: Path) -> None:
        """Add a certificate to the file."""
        self.ca.write_text(self.ca.read_text() + certificate.read_text())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartProxy]:
    (tmp_path / "servers").mkdir()
    with ExitStack() as stack:
        yield StartProxy(tmp_path / "servers", stack)


def rows(path: Path) -> list[dict[str, Any]]:
    with duckdb.connect() as database:
        found = database.execute(f"from '{path}' where connection > 0 order by connection, ended_ns")
        names = [column[0] for column in found.description or []]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize(
    ("scheme", "proxy_speaks"),
    [
        ("http", "http"),
        ("https", "https"),
        pytest.param("http", "https", marks=pytest.mark.long),
        pytest.param("https", "http", marks=pytest.mark.long),
    ],
)
def test_a_tree_goes_up_and_down_through_a_proxy(
    start: StartProxy, scheme: str, proxy_speaks: str, tree: Path, tmp_path: Path
) -> None:
    endpoint, proxy = by_name(start.endpoint(scheme)), start(USER, proxy_speaks)
    env = endpoint.env | {f"{scheme.upper()}_PROXY": proxy.url(WRITTEN), "RUST_LOG": "trace"}
    haul = Haul(tmp_path, env, SECRETS)
    trusted = ["--ca", str(start.ca)] if start.ca.read_text() else []
    trust = ["--insecure-http", *trusted]
    haul("mb", "az://data", *trust)
    outputs = ("--record", "up.parquet", "--receipt", "receipt")
    up = haul("cp", tree, "az://data/", "--json", *outputs, *trust)
    haul("cp", "az://data/", "back", "--record", "down.parquet", *trust)
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))
    haul("verify", tree, "az://data/", *trust)

    target = f"{STORE}:{port(endpoint)}"
    assert not proxy.refused
    assert proxy.seen
    for asked in proxy.seen:
        assert asked.authorization == f"Basic {ENCODED}"
        assert "authorization" not in asked.headers or asked.method != "CONNECT"
        if scheme == "https":
            assert (asked.method, asked.target) == ("CONNECT", target)
        else:
            assert asked.target.startswith(f"http://{target}/{endpoints.ACCOUNT}/data")

    assert {event["remote"] for event in up.of("attempt") if event["connection"]} == {proxy.address}
    assert all(event["proxied"] for event in up.of("attempt") if event["connection"])
    assert up.summary["retries"] == 0
    for record in ("up.parquet", "down.parquet"):
        attempts = rows(tmp_path / record)
        assert {(row["remote"], row["proxied"], row["dns_ns"]) for row in attempts} == {
            (proxy.address, True, None)
        }
        for row in attempts:
            # Told once, by the request that the connection was made for.
            opened = [row["proxy_ns"], row["tls_ns"]]
            assert all(ns is None for ns in opened) or not row["connection_reused"]
            assert sum(ns or 0 for ns in opened) <= row["connected_ns"] - row["slot_ns"]
            assert row["proxy_ns"] is None or scheme == "https"
            # One that another was quicker than may end before its connection is looked at.
            assert row["fate"] == "cancelled" or 0 < row["tcp_rtt_ns"] < 10**9
    assert f"{proxy.address} (a proxy)" in haul("why", "up.parquet").text
    told = b"".join((tmp_path / name).read_bytes() for name in ("up.parquet", "down.parquet", "receipt"))
    told += str([*rows(tmp_path / "up.parquet"), *rows(tmp_path / "down.parquet")]).encode()
    assert not [secret for secret in SECRETS if secret.encode() in told]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_bucket_is_reached_through_a_proxy(
    start: StartProxy, scheme: str, tree: Path, tmp_path: Path
) -> None:
    endpoint, proxy = by_name(start.endpoint(scheme)), start(USER)
    env = endpoints.by_s3(endpoint).env | {f"{scheme.upper()}_PROXY": proxy.url(WRITTEN)}
    haul = Haul(tmp_path, env | {"RUST_LOG": "trace"}, SECRETS)
    trust = ["--insecure-http", *(["--ca", str(start.ca)] if start.ca.read_text() else [])]
    haul("mb", "s3://data", *trust)
    up = haul("cp", tree, "s3://data/", "--json", *trust)
    haul("cp", "s3://data/", "back", *trust)
    trees.assert_same(trees.contents(tmp_path / "back"), trees.contents(tree))
    haul("verify", tree, "s3://data/", *trust)
    assert not proxy.refused
    target = f"{STORE}:{port(endpoint)}"
    for asked in proxy.seen:
        assert asked.authorization == f"Basic {ENCODED}"
        if scheme == "https":
            assert (asked.method, asked.target) == ("CONNECT", target)
        else:
            assert asked.target.startswith(f"http://{target}/data")
    assert all(event["proxied"] for event in up.of("attempt") if event["connection"])
    assert up.summary["retries"] == 0


def test_a_job_survives_a_proxy_that_cuts(start: StartProxy, tmp_path: Path) -> None:
    endpoint, proxy = by_name(start.endpoint("https")), start()
    haul = Haul(tmp_path, endpoint.env | {"HTTPS_PROXY": proxy.url()}, SECRETS)
    trust = ("--ca", start.ca)
    trees.random_file(tmp_path / "large", 8_000_000)
    haul("mb", "az://data", *trust)
    haul("cp", "large", "az://data/", *trust)
    proxy.cuts = 3
    down = haul("cp", "az://data/large", "back", "--json", "--block-size", "256KiB", *trust)
    causes = [event["cause"] for event in down.of("attempt") if event["fate"] == "connection"]
    assert causes
    assert all(f"through the proxy {proxy.address} (HTTPS_PROXY)" in cause for cause in causes)
    assert (tmp_path / "back").read_bytes() == (tmp_path / "large").read_bytes()


@pytest.mark.parametrize(
    ("variables", "through"),
    [
        ({}, "HTTP_PROXY"),
        ({"NO_PROXY": STORE}, ""),
        ({"no_proxy": "other, .test"}, ""),
        ({"NO_PROXY": "other,store.test:$port"}, ""),
        ({"NO_PROXY": "*"}, ""),
        # Another port; the address of the name, which nobody looks up.
        ({"NO_PROXY": "store.test:1,127.0.0.0/8"}, "HTTP_PROXY"),
    ],
    ids=str,
)
def test_hosts_of_no_proxy_are_reached_without(
    start: StartProxy, emulator: Endpoint, tmp_path: Path, variables: dict[str, str], through: str
) -> None:
    """Both ways lead there: only the proxy tells which was taken."""
    proxy, container = start(), emulator.container()
    (tmp_path / "hosts").write_text(f"127.0.0.1 localhost {STORE}\n")
    knows = in_own_mounts(f"mount --bind {tmp_path / 'hosts'} /etc/hosts")
    env = {name: value.replace("$port", port(emulator)) for name, value in variables.items()}
    haul = Haul(tmp_path, by_name(emulator).env | {"HTTP_PROXY": proxy.url()} | env)
    (tmp_path / "file").write_bytes(b"hello")
    haul("cp", "file", container.az("file"), "--insecure-http", wrap=knows)
    assert container.contents() == {"file": b"hello"}
    assert bool(proxy.seen) == bool(through)


def test_this_machine_and_its_metadata_are_never_asked_for_by_proxy(
    emulator: Endpoint, start: StartProxy, tmp_path: Path
) -> None:
    everywhere = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), DEAD)
    Haul(tmp_path, emulator.env | everywhere)("ls", "az://")
    Haul(tmp_path, emulator.env)("ls", "az://", "--proxy", DEAD)
    proxy = start()
    env = dict.fromkeys(everywhere, proxy.url()) | {"PATH": "nowhere"}
    # There may be such a service, or none; in any case it is not to be had through a proxy.
    proxy.says = b"HTTP/1.1 403 No\r\n\r\n"
    Haul(tmp_path, env)("stat", "https://account.blob.core.windows.net/data/a", code=3)
    assert not [asked for asked in proxy.seen if "169.254" in asked.target], proxy.seen


def test_the_option_comes_before_the_environment(
    start: StartProxy, emulator: Endpoint, tmp_path: Path
) -> None:
    proxy, container = start(USER), emulator.container()
    haul = Haul(tmp_path, by_name(emulator).env | {"HTTP_PROXY": DEAD}, SECRETS)
    haul("ls", container.az(), "--insecure-http", "--proxy", proxy.url(WRITTEN))
    assert len(proxy.passed) == 1
    haul(
        "ls",
        container.az(),
        "--insecure-http",
        "--proxy",
        proxy.url(WRITTEN),
        env={"NO_PROXY": STORE},
        code=1,
    )
    assert len(proxy.seen) == 1, "there is no way to the name but through the proxy"
    direct = Haul(tmp_path, emulator.env | {"ALL_PROXY": DEAD})
    direct("ls", container.az(), "--proxy", "none")


def test_python_takes_the_proxy_and_the_authorities(
    start: StartProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    endpoint, proxy = by_name(start.endpoint("https")), start(USER)
    url = f"{endpoint.url}/data"
    for name, value in endpoint.env.items():
        monkeypatch.setenv(name, value)
    Haul(tmp_path, endpoint.env)("mb", url, "--proxy", proxy.url(WRITTEN), "--ca", start.ca)
    haulage.put(f"{url}/a", b"hello", proxy=proxy.url(WRITTEN), ca=start.ca)
    assert haulage.get(f"{url}/a", proxy=proxy.url(WRITTEN), ca=str(start.ca)) == b"hello"
    seen = len(proxy.seen)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url(WRITTEN))
    assert haulage.get(f"{url}/a", ca=start.ca) == b"hello"
    assert len(proxy.seen) == seen + 1
    # Another environment is another way: no connection of the former is used again.
    monkeypatch.setenv("HTTPS_PROXY", proxy.url("someone:else"))
    with pytest.raises(haulage.CredentialError) as error:
        haulage.get(f"{url}/a", ca=start.ca)
    sentence(error.value)
    monkeypatch.setenv("HTTPS_PROXY", proxy.url(WRITTEN))
    with pytest.raises(haulage.ConnectionLostError, match=r"host not found: store\.test"):
        haulage.get(f"{url}/a", ca=start.ca, proxy="none")
    with pytest.raises(haulage.UsageError) as caught:
        haulage.get(f"{url}/a", proxy=f"http://{WRITTEN}@host:port")
    assert "tr0ub4dor" not in str(caught.value) + repr(caught.value)


class Tokens(BaseHTTPRequestHandler):
    """The service that gives tokens, or sends elsewhere whoever asks for one."""

    asked: list[str]
    elsewhere = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        self.asked.append(f"{self.path} {self.headers} {body}")
        token = {"token_type": "Bearer", "expires_in": 3599, "access_token": "a-token-for-these-tests"}
        keys = {"AccessKeyId": endpoints.ACCOUNT, "SecretAccessKey": endpoints.KEY, "Token": ""}
        content = json.dumps(token | keys | {"Expiration": "2100-01-01T00:00:00Z"}).encode()
        if self.elsewhere:
            self.send_response(307)
            self.send_header("Location", self.elsewhere + self.path)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_HEAD = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve_tokens(start: StartProxy) -> Callable[..., tuple[int, list[str]]]:
    """Start a service of tokens of https; return its port and what it is asked."""

    def serve(elsewhere: str = "") -> tuple[int, list[str]]:
        certificate = start.folder / f"tokens-{len(elsewhere)}.pem"
        key = fake_service.make_certificate(certificate, LOGIN)
        start.trust(certificate)
        handler = type("Handler", (Tokens,), {"asked": [], "elsewhere": elsewhere})
        server = start.stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, True, do_handshake_on_connect=False)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        start.stack.callback(thread.join)
        start.stack.callback(server.shutdown)
        return server.server_port, handler.asked  # type: ignore[attr-defined]

    return serve


def principal(authority: str) -> dict[str, str]:
    """Return the variables of somebody who signs in."""
    return {
        "AZURE_TENANT_ID": "tenant",
        "AZURE_CLIENT_ID": "client",
        "AZURE_CLIENT_SECRET": "the-secret-of-a-client",
        "AZURE_AUTHORITY_HOST": authority,
        "PATH": "nowhere",
    }


@pytest.mark.parametrize("far", ["token", "storage"])
def test_tokens_and_storage_each_have_their_way(
    start: StartProxy, serve_tokens: Callable[..., tuple[int, list[str]]], far: str, tmp_path: Path
) -> None:
    """One of them is on this machine, the other one is not to be reached without the proxy."""
    tokens, asked = serve_tokens()
    certificate = start.folder / "service.pem"
    service = start.stack.enter_context(fake_service.serve(certificate, STORE))
    start.trust(certificate)
    number, proxy = service.url.rsplit(":")[-1], start(USER)
    login, store = (LOGIN, "127.0.0.1") if far == "token" else ("127.0.0.1", STORE)
    env = principal(f"https://{login}:{tokens}") | {"HTTPS_PROXY": proxy.url(WRITTEN)}
    haul = Haul(tmp_path, env, [*SECRETS, "the-secret-of-a-client", "a-token-for-these-tests"])
    haul("stat", "az://data/a", "--endpoint", f"https://{store}:{number}/put-500", "--ca", start.ca)
    target = f"{LOGIN}:{tokens}" if far == "token" else f"{STORE}:{number}"
    assert {asked.target for asked in proxy.passed} == {target}
    assert len(asked) == 1
    assert "roxy" not in asked[0], "who we are to the proxy is nobody else's business"


def test_keys_come_through_a_proxy_and_storage_does_not(
    start: StartProxy,
    serve_tokens: Callable[..., tuple[int, list[str]]],
    emulator: Endpoint,
    tmp_path: Path,
) -> None:
    """The service of keys is not to be reached without the proxy; the bucket is on this machine."""
    tokens, asked = serve_tokens()
    proxy, container = start(USER), emulator.container()
    env = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"https://{LOGIN}:{tokens}/keys",
        "AWS_ENDPOINT_URL": endpoints.by_s3(emulator).url,
        "HTTPS_PROXY": proxy.url(WRITTEN),
    }
    (tmp_path / "file").write_bytes(b"hello")
    Haul(tmp_path, env, SECRETS)("cp", "file", f"s3://{container.name}/file", "--ca", start.ca)
    assert container.contents() == {"file": b"hello"}
    assert {asked.target for asked in proxy.passed} == {f"{LOGIN}:{tokens}"}
    assert len(asked) == 1
    assert "roxy" not in asked[0]


def test_nobody_is_sent_elsewhere_with_a_secret(
    start: StartProxy, serve_tokens: Callable[..., tuple[int, list[str]]], tmp_path: Path
) -> None:
    """By the service of tokens, by the proxy, or by the storage behind it."""
    far, seen = serve_tokens()
    elsewhere = f"https://127.0.0.1:{far}"
    near, asked = serve_tokens(elsewhere)
    env = principal(f"https://127.0.0.1:{near}")
    haul = Haul(tmp_path, env, ["the-secret-of-a-client"])
    line = ("stat", "az://data/a", "--endpoint", f"https://{STORE}/account", "--ca", start.ca)
    said = haul(*line, code=3)
    assert "the sign-in was refused (HTTP 307)" in said.stderr
    assert (len(asked), seen) == (1, [])

    proxy = start(USER)
    proxy.says = f"HTTP/1.1 302 There\r\nLocation: {elsewhere}\r\n\r\n".encode()
    sas = "sv=2021-12-02&sp=r&sig=c2VjcmV0LXNpZ25hdHVyZQ%3D%3D"
    for url in (f"https://{STORE}/account/data/a?{sas}", f"http://{STORE}/account/data/a?{sas}"):
        haul = Haul(tmp_path, {"ALL_PROXY": proxy.url(WRITTEN)}, [*SECRETS, "c2VjcmV0"])
        haul("stat", url, "--insecure-http", "--ca", start.ca, code=1)
        haul("cp", url, "back", "--insecure-http", "--ca", start.ca, code=1)
    assert proxy.seen
    assert {asked.target.removeprefix("http://").partition("/")[0] for asked in proxy.seen} == {
        STORE,
        f"{STORE}:443",
    }
    assert seen == []


#: Where a line may fail because of a proxy: code, kind, its scheme, what the proxy says.
REFUSALS: list[tuple[int, str, str, bytes]] = [
    (3, "permission", "both", b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n"),
    (3, "permission", "both", b"HTTP/1.1 407 Who\r\nProxy-Authenticate: NTLM\r\n\r\n"),
    # Whatever it repeats of what it was sent.
    (
        3,
        "permission",
        "both",
        f"HTTP/1.1 403 {ENCODED}\r\nX: {USER}\r\nContent-Length: 26\r\n\r\n{USER}".encode(),
    ),
    (1, "connection", "both", b"HTTP/1.1 502 Bad\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"),
    (1, "connection", "both", b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"),
    (1, "protocol", "https", b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n"),
    (1, "protocol", "https", b"SSH-2.0-OpenSSH_9.2\r\n"),
    (1, "connection", "https", b"HTTP/1.1 200 OK\r\n"),
]
LINES = [
    pytest.param(code, kind, scheme, says, id=f"{scheme} {says[:40]!r}")
    for code, kind, which, says in REFUSALS
    for scheme in (("https", "http") if which == "both" else (which,))
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(Haul(lay_out(tmp_path_factory.mktemp("shell")), {}, SECRETS))


@pytest.mark.parametrize(("code", "kind", "scheme", "says"), LINES)
def test_a_proxy_that_says_no(
    shell: Shell, start: StartProxy, code: int, kind: str, scheme: str, says: bytes, sentence: Sentence
) -> None:
    proxy = start()
    proxy.says = says
    # A job would try again for half a minute.
    how = f"--insecure-http --proxy {proxy.url(WRITTEN)}"
    said = shell.expect(code, f"{KEY} stat {scheme}://{STORE}/account/data/a {how}")
    sentence(said.hints)
    assert f"the proxy {proxy.address} (--proxy)" in said.stderr
    told = json_failure(shell, f"{KEY} stat {scheme}://{STORE}/account/data/a {how} --json", code)
    assert ({told["hint"]}, told["kind"]) == (said.hints, kind)


@pytest.mark.parametrize(
    ("code", "scheme", "says"),
    [
        (code, scheme, says)
        for code, _, which, says in REFUSALS
        for scheme in ("https", "http")
        if which == "both"
    ],
)
def test_a_proxy_that_says_no_to_s3(
    shell: Shell, start: StartProxy, code: int, scheme: str, says: bytes, sentence: Sentence
) -> None:
    """It is the proxy that is named, not the service or its keys."""
    proxy = start()
    proxy.says = says
    keys = f"AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=none AWS_ENDPOINT_URL={scheme}://{STORE}"
    how = f"--insecure-http --proxy {proxy.url(WRITTEN)}"
    said = shell.expect(code, f"{keys} stat s3://data/a {how}")
    sentence(said.hints)
    assert f"the proxy {proxy.address} (--proxy)" in said.stderr


KEY = "AZURE_STORAGE_KEY=d3Jvbmc="


def json_failure(shell: Shell, line: str, code: int) -> dict[str, Any]:
    went: Result = shell(line, code)
    (failure,) = (event for event in went.events if event.get("hint"))
    return failure


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (1, f"HTTPS_PROXY={DEAD} {KEY} stat https://store.test/account/data/a"),
        (1, f"HTTPS_PROXY=http://no-such-proxy.invalid {KEY} stat https://store.test/account/data/a"),
        (2, f"ALL_PROXY=socks5://{WRITTEN}@host {KEY} stat https://store.test/account/data/a"),
        (2, f"HTTPS_PROXY={WRITTEN} {KEY} stat https://store.test/account/data/a"),
        (2, f"cp a b --proxy {WRITTEN}@host:port"),
        (2, f"cp a b --proxy={WRITTEN}"),
        (2, "cp a b --proxy ''"),
        (2, "cp a b --ca a"),
        (4, "cp a b --ca no-such-file"),
        (2, f"HTTP_PROXY={DEAD} {KEY} stat http://store.test/account/data/a"),
    ],
)
def test_what_the_user_says_of_proxies(shell: Shell, code: int, line: str, sentence: Sentence) -> None:
    sentence(shell.expect(code, line).hints)


def test_a_wrong_variable_is_no_matter_where_no_proxy_is_needed(shell: Shell) -> None:
    shell(f"ALL_PROXY=socks5://{WRITTEN}@host ls x")
    shell(f"ALL_PROXY={WRITTEN} cp a copied-past-a-wrong-proxy")
