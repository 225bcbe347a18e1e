"""A session: connections and credentials that are opened once and shared by many calls.

>>> import haulage
>>> with haulage.Session() as session:
...     written = haulage.put("mem://session/a", b"hello", session=session)
...     haulage.get("mem://session/a", session=session)
b'hello'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import NoReturn, Protocol, Self, TypeAlias

from haulage import _engine
from haulage.errors import UsageError


class _AccessToken(Protocol):
    @property
    def token(self) -> str: ...
    @property
    def expires_on(self) -> int: ...


class _TokenCredential(Protocol):
    def get_token(self, scope: str, /) -> _AccessToken: ...


#: Returns a bearer token for ``https://storage.azure.com/`` and its end, in seconds since 1970 or as a
#: ``datetime`` with a time zone; or an object that has them as ``token`` and ``expires_on``.
TokenCallable: TypeAlias = Callable[[], "tuple[str, float | datetime] | _AccessToken"]


class AzureCredential:
    """The way into an account of Azure Blob storage, with exactly one secret. It prints without it.

    >>> AzureCredential(account="acc", key="c2VjcmV0")
    AzureCredential(account='acc', key=...)

    With an ``endpoint`` it is used at that host and at no other. Without one it is used at Azure's own
    hosts and where the ``endpoint`` of a call leads.

    Args:
        account: The account's name. Needed with ``key`` and ``sas`` where no ``endpoint`` names it. A
            ``token`` without it is for every account.
        endpoint: Where the account lives, ``https://host[:port][/account]``; default
            ``https://ACCOUNT.blob.core.windows.net``.
        connection_string: ``AccountName=...;AccountKey=...`` as the portal shows it, or with a
            ``SharedAccessSignature``; says account and endpoint by itself.
        key: The account's key, in Base64.
        sas: A shared access signature, with or without its ``?``.
        token: A bearer token of Microsoft Entra, which is used until the service refuses it; or what gives
            them: a credential of ``azure-identity``, or a callable that returns a token and its end
            (:data:`TokenCallable`). It is called in a thread of the engine's, with the first request and
            again from five minutes before the end of the last token on, one call at a time for each
            account; a call may take two minutes at most. The token is sent over https, and over plain http
            only within this machine.

    Raises:
        UsageError: Not exactly one secret, or one that cannot be right: a key that is not Base64, a SAS
            without a signature, no account. ``object`` names the argument; nothing shows what it was.
            Whether the service takes it shows with the first request, as a
            :class:`~haulage.errors.CredentialError`.
    """

    def __init__(
        self,
        *,
        account: str | None = None,
        endpoint: str | None = None,
        connection_string: str | None = None,
        key: str | None = None,
        sas: str | None = None,
        token: str | TokenCallable | _TokenCredential | None = None,
    ) -> None:
        secrets = {"connection_string": connection_string, "key": key, "sas": sas, "token": token}
        hint = "give exactly one of connection_string, key, sas and token"
        self._kind = _only_one("AzureCredential", secrets, hint)
        self._engine = _engine.AzureCredential(self._kind, secrets[self._kind], account, endpoint)

    @property
    def account(self) -> str | None:
        """The account's name; ``None`` for a token that is for all."""
        return self._engine.account

    def __repr__(self) -> str:
        return f"AzureCredential(account={self.account!r}, {self._kind}=...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an AzureCredential is not pickled: whoever got the bytes would get the secret")


class S3Credential:
    """The way into a service of S3: keys, a profile, or nobody's name. It prints without a secret.

    >>> S3Credential(key_id="AKIDEXAMPLE", secret="wJalrXUtnFEMI", region="eu-west-1")
    S3Credential(secret=..., region='eu-west-1')
    >>> S3Credential(anonymous=True, endpoint="https://data.example.org")
    S3Credential(anonymous=True, endpoint='https://data.example.org')

    With an ``endpoint`` it is used at that service and at no other. Without one it is used at the service
    that the ``endpoint`` of a call, the environment or the profile names, or at AWS.

    Args:
        key_id: The id of an access key, with its ``secret``.
        secret: What proves that you hold it.
        token: The session token, of a key that is good for a time only.
        profile: The name of a profile in ``~/.aws/config`` or ``~/.aws/credentials``: its keys, its single
            sign-on or its process, and its region and endpoint. Nothing else is asked for keys.
        anonymous: Ask without a signature, for what is open to all.
        endpoint: Where the service is, ``https://host[:port][/path]``.
        region: Where its buckets are; default: what the environment, the profile or the service says.

    Raises:
        UsageError: Not exactly one way in, or one that cannot be right. ``object`` names the argument;
            nothing shows what it was. Whether the service takes it shows with the first request, as a
            :class:`~haulage.errors.CredentialError`.
    """

    def __init__(
        self,
        *,
        key_id: str | None = None,
        secret: str | None = None,
        token: str | None = None,
        profile: str | None = None,
        anonymous: bool = False,
        endpoint: str | None = None,
        region: str | None = None,
    ) -> None:
        if (key_id is None) != (secret is None) or (token is not None and secret is None):
            hint = "give key_id and secret together, and token with them where there is one"
            raise UsageError("read the credentials", "S3Credential", "a part of the key is missing", hint)
        ways = {"secret": secret, "profile": profile, "anonymous": anonymous or None}
        hint = "give exactly one of key_id with secret, profile, and anonymous"
        _only_one("S3Credential", ways, hint)
        shown = {"profile": profile, "endpoint": endpoint, "region": region}
        self._shown = [f"{name}={value!r}" for name, value in shown.items() if value is not None]
        if profile is None:
            self._shown.insert(0, "anonymous=True" if anonymous else "secret=...")
        keys = None if key_id is None or secret is None else (key_id, secret, token)
        self._engine = _engine.S3Credential(keys=keys, profile=profile, endpoint=endpoint, region=region)

    def __repr__(self) -> str:
        return f"S3Credential({', '.join(self._shown)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an S3Credential is not pickled: whoever got the bytes would get the secret")


#: What a session may be given.
Credential: TypeAlias = AzureCredential | S3Credential


class Session:
    """Connections, credentials and what is known of services, opened once. Calls take it as ``session=``.

    Calls on one session find the connections that earlier ones have left, the credential, what the service
    was found to be able to, the rate of requests that it takes, and one budget for retries. A job keeps its
    own cap, memory, record and events.

    It may be used by several threads at once. In a child made by ``os.fork`` it opens connections of its own;
    those of the parent are left alone. It is not sent to other processes: make one there.

    As a context manager, ``with`` or ``async with``, it is closed at the end.

    >>> with Session(AzureCredential(account="acc", key="c2VjcmV0")) as session:
    ...     session
    Session(AzureCredential(account='acc', key=...))
    >>> session
    Session(AzureCredential(account='acc', key=...), closed)

    Args:
        credentials: One, or several for as many accounts and services. They go before the environment; an
            account or service for which none is given is reached as without a session. A SAS in a URL goes
            before either, and so do the ``keys`` and ``unsigned`` of a call. The first that is for an account
            of Azure tells where ``az://`` leads, and the first for S3 where ``s3://`` leads, unless a call
            names an ``endpoint``. Default none.

    Credentials of the environment are looked for when an account or service is used first, and kept.
    """

    def __init__(self, credentials: Credential | Iterable[Credential] | None = None) -> None:
        self._credentials: list[Credential] = (
            [credentials]
            if isinstance(credentials, (AzureCredential, S3Credential))
            else list(credentials or ())
        )
        if not all(isinstance(one, (AzureCredential, S3Credential)) for one in self._credentials):
            hint = "pass AzureCredential and S3Credential objects"
            raise UsageError("read the arguments", "credentials", "this is no credential", hint)
        self._engine = _engine.Session([credential._engine for credential in self._credentials])

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._engine.closed

    def close(self) -> None:
        """Let go of the connections. May be called again.

        What is under way, such as a job, goes on to its end. Whoever begins something new gets a
        :class:`~haulage.errors.UsageError`. Returns at once: nothing is sent.
        """
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = [repr(credential) for credential in self._credentials] + ["closed"] * self.closed
        return f"Session({', '.join(parts)})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Session is not pickled: make one in each process, with credentials from there")


def _only_one(name: str, ways: Mapping[str, object], hint: str) -> str:
    """Return the one way that is given."""
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        cause = f"{' and '.join(given)} at once" if given else "no secret"
        raise UsageError("read the credentials", name, cause, hint)
    return given[0]
