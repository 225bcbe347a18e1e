"""Sessions: connections and credentials that many calls share.

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


#: Returns a bearer token for ``https://storage.azure.com/`` and its expiry, in seconds since 1970 or as a
#: ``datetime`` with a time zone; or an object that has them as ``token`` and ``expires_on``.
TokenCallable: TypeAlias = Callable[[], "tuple[str, float | datetime] | _AccessToken"]


class AzureCredential:
    """Credentials for an Azure Blob Storage account: exactly one secret, which ``repr`` does not show.

    >>> AzureCredential(account="acc", key="c2VjcmV0")
    AzureCredential(account='acc', key=...)

    With an ``endpoint``, they are sent to that host only. Without one, they are sent to Azure's own hosts
    and to the ``endpoint`` of a call.

    Args:
        account: The account name. Required with ``key`` and ``sas`` unless ``endpoint`` includes it. A
            ``token`` without an account is used for every account.
        endpoint: The address of the account, ``https://host[:port][/account]``; default
            ``https://ACCOUNT.blob.core.windows.net``.
        connection_string: ``AccountName=...;AccountKey=...`` as the portal shows it, or one with a
            ``SharedAccessSignature``. It includes the account and the endpoint.
        key: The account key, in Base64.
        sas: A shared access signature, with or without the leading ``?``.
        token: A Microsoft Entra bearer token, which is used until the service rejects it; or a source of
            tokens: an ``azure-identity`` credential, or a callable that returns a token and its expiry
            (:data:`TokenCallable`). The source is called in an engine thread: for the first request, and
            again from five minutes before the last token expires. There is one call at a time for each
            account, and each may take at most two minutes. Tokens are sent over https, and over plain http
            only within this machine.

    Raises:
        UsageError: Not exactly one secret, or an invalid one: a key that is not Base64, a SAS without a
            signature, no account. ``object`` names the argument; its value is never shown. If the service
            rejects the credentials, the first request raises a
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
        """The account name; ``None`` for a token that is used for every account."""
        return self._engine.account

    def __repr__(self) -> str:
        return f"AzureCredential(account={self.account!r}, {self._kind}=...)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("an AzureCredential cannot be pickled, because the bytes would contain the secret")


class S3Credential:
    """Credentials for an S3 service: keys, a profile, or anonymous access. ``repr`` does not show the secret.

    >>> S3Credential(key_id="AKIDEXAMPLE", secret="wJalrXUtnFEMI", region="eu-west-1")
    S3Credential(secret=..., region='eu-west-1')
    >>> S3Credential(anonymous=True, endpoint="https://data.example.org")
    S3Credential(anonymous=True, endpoint='https://data.example.org')

    With an ``endpoint``, they are sent to that service only. Without one, they are sent to the service that
    the ``endpoint`` of a call, the environment or the profile names, or to AWS.

    Args:
        key_id: The access key id; requires ``secret``.
        secret: The secret access key.
        token: The session token, if the key is temporary.
        profile: The name of a profile in ``~/.aws/config`` or ``~/.aws/credentials``: its keys, single
            sign-on or credential process, and its region and endpoint. No other source of keys is used.
        anonymous: Send requests without a signature, for public data.
        endpoint: The address of the service, ``https://host[:port][/path]``.
        region: The region of the buckets; default: from the environment, the profile or the service.

    Raises:
        UsageError: Not exactly one kind of credentials, or invalid ones. ``object`` names the argument; its
            value is never shown. If the service rejects the credentials, the first request raises a
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
            hint = "give key_id and secret together, and token if the key is temporary"
            raise UsageError("read the credentials", "S3Credential", "part of the key is missing", hint)
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
        raise TypeError("an S3Credential cannot be pickled, because the bytes would contain the secret")


#: The credentials that a session accepts.
Credential: TypeAlias = AzureCredential | S3Credential


class Session:
    """Connections and credentials that many calls share. Pass it to them as ``session=``.

    Calls on the same session reuse its connections, its credentials, what it has learned about the features
    of each service and the request rate that the service accepts, and one retry budget. Each job still has
    its own cap, memory limit, record and events.

    Several threads can use a session at once. A child process made by ``os.fork`` opens its own connections
    and leaves those of the parent alone. A session cannot be sent to another process: create one there.

    As a context manager, with ``with`` or ``async with``, it is closed at the end of the block.

    >>> with Session(AzureCredential(account="acc", key="c2VjcmV0")) as session:
    ...     session
    Session(AzureCredential(account='acc', key=...))
    >>> session
    Session(AzureCredential(account='acc', key=...), closed)

    Args:
        credentials: One, or several for different accounts and services. They take precedence over the
            environment, which is still used for accounts and services without credentials here. A SAS in a
            URL, and the ``keys`` and ``unsigned`` of a call, take precedence over both. The first credentials
            for an Azure account determine the account of ``az://``, and the first for S3 the service of
            ``s3://``, unless a call passes an ``endpoint``. Default none.

    Credentials from the environment are read when an account or service is first used, and then kept.
    """

    def __init__(self, credentials: Credential | Iterable[Credential] | None = None) -> None:
        self._credentials: list[Credential] = (
            [credentials]
            if isinstance(credentials, (AzureCredential, S3Credential))
            else list(credentials or ())
        )
        if not all(isinstance(one, (AzureCredential, S3Credential)) for one in self._credentials):
            hint = "pass AzureCredential and S3Credential objects"
            raise UsageError("read the arguments", "credentials", "this is not a credential", hint)
        self._engine = _engine.Session([credential._engine for credential in self._credentials])

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` has been called."""
        return self._engine.closed

    def close(self) -> None:
        """Release the connections and return immediately; nothing is sent. Safe to call more than once.

        Jobs and calls that are running continue to their end. New calls on the session raise a
        :class:`~haulage.errors.UsageError`.
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
        raise TypeError(
            "a Session cannot be pickled: create one in each process, with that process's credentials"
        )


def _only_one(name: str, ways: Mapping[str, object], hint: str) -> str:
    """Return the one way that is given."""
    given = [way for way, value in ways.items() if value is not None]
    if len(given) != 1:
        cause = f"{' and '.join(given)} at once" if given else "no secret"
        raise UsageError("read the credentials", name, cause, hint)
    return given[0]
