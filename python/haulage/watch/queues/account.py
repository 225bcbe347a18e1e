"""Which queue is meant, and how it is reached: as blobs are, with the credentials of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from haulage.errors import (
    BusyError,
    ConnectionLostError,
    CredentialError,
    HaulageError,
    NotFoundError,
    ServiceError,
    UsageError,
    missing_package,
)
from haulage.transfer import StoreOptions

if TYPE_CHECKING:
    from azure.storage.queue import QueueClient

_T = TypeVar("_T")

#: In front of the name of a queue of the environment's account, where a log or a file may stand as well.
SCHEME = "queue://"
#: What a queue may be called.
_NAME = re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
#: No answer for so long counts as away. What is tried again, and when, is for the caller.
_CONNECT_S, _ANSWER_S = 3, 5
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Queue:
    """A queue, and its name for people."""

    def __init__(self, name: str, client: QueueClient) -> None:
        self.name, self.client = name, client

    def ask(self, operation: str, question: Callable[[QueueClient], _T]) -> _T:
        """Ask something of Azure's client.

        Raises:
            HaulageError: It did not succeed, in words without a secret.
        """
        from azure.core.exceptions import AzureError

        try:
            return question(self.client)
        except AzureError as error:
            raise _of_azure(operation, self.name, error) from None

    def messages(self) -> int:
        """Return about how many messages it holds."""
        found = self.ask("count", lambda client: client.get_queue_properties())
        return int(found.approximate_message_count or 0)

    def close(self) -> None:
        """Let go of the connection."""
        self.client.close()


def is_queue(source: str) -> bool:
    """Whether that names a queue, and not a log or a file.

    >>> is_queue("queue://jobs"), is_queue("https://a.queue.core.windows.net/jobs"), is_queue("az://log")
    (True, True, False)
    """
    return source.startswith(SCHEME) or ".queue." in _host(source)


def opened(
    source: str, options: StoreOptions | None = None, environment: Mapping[str, str] = os.environ
) -> Queue:
    """Return a queue by its URL, or by its name in the account of the environment.

    Raises:
        UsageError: That names no queue.
        CredentialError: There is nothing to reach it with.
        UnsupportedError: Azure's package is not installed.
    """
    given = {name: value for name, value in environment.items() if value}
    if source.startswith(("http://", "https://")):
        base, _, sas = source.partition("?")
        account, slash, name = base.rstrip("/").rpartition("/")
        shown = base
        if slash and not _NAME.fullmatch(name):
            raise _no_name(base)
        credential = sas or _credential_for(account, given)
    else:
        name = source.removeprefix(SCHEME).partition("?")[0]
        if not _NAME.fullmatch(name):
            raise _no_name(name)
        account, credential = _of_environment(name, given)
        shown = f"{SCHEME}{name}"
    host = _host(account)
    if not host:
        hint = "write https://ACCOUNT.queue.core.windows.net/QUEUE; a QueueEndpoint is that without /QUEUE"
        raise UsageError("watch", shown, "the address of its service is not valid", hint)
    options = options or {}
    if account.startswith("http://") and host not in _LOOPBACK and not options.get("insecure_http"):
        hint = "write https://, or allow it with --insecure-http"
        raise UsageError("watch", shown, "plain http to another machine", hint)
    if credential is None:
        hint = (
            "set AZURE_STORAGE_KEY or AZURE_STORAGE_CONNECTION_STRING, or name the queue by a URL with a SAS"
        )
        raise CredentialError("watch", shown, "there is no key and no SAS for it", hint)
    return Queue(shown, _client(account, name, credential, options))


def _host(url: str) -> str:
    """Return the host of an address of the Web; empty where it is none."""
    try:
        where = urlsplit(url)
        valid = where.scheme in ("http", "https") and where.port != 0
    except ValueError:
        return ""
    host = where.hostname or ""
    return host if valid and host.isprintable() and " " not in host else ""


def _no_name(name: str) -> UsageError:
    hint = "queue names have 3 to 63 lower-case letters, digits and hyphens"
    return UsageError("watch", name, "not the name of a queue", hint)


def _of_environment(name: str, given: Mapping[str, str]) -> tuple[str, Any]:
    """Return the URL of the account's queues, and what is shown to it."""
    settings = _settings(given)
    if settings.get("usedevelopmentstorage", "").lower() == "true":
        settings = _DEVELOPMENT
    account = settings.get("accountname", "")
    queues = settings.get("queueendpoint", "").rstrip("/") or _beside_blobs(settings.get("blobendpoint", ""))
    if not queues and account and not settings.get("blobendpoint"):
        suffix = settings.get("endpointsuffix", "core.windows.net")
        queues = f"{settings.get('defaultendpointsprotocol', 'https')}://{account}.queue.{suffix}"
    if not queues:
        known = bool(settings.get("blobendpoint"))
        cause = "the environment does not say where the account's queues are"
        if known:
            hint = "add QueueEndpoint=URL to the connection string, or name the queue by its URL"
        else:
            hint = (
                "set AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING, or name the queue by its URL"
            )
        raise UsageError("watch", name, cause, hint)
    return queues, _shown(settings, account)


def _credential_for(url: str, given: Mapping[str, str]) -> Any:
    """Return the key of the environment, if it is of the account of this URL."""
    settings = _settings(given)
    if settings.get("usedevelopmentstorage", "").lower() == "true":
        settings = _DEVELOPMENT
    host, account = _host(url), settings.get("accountname", "")
    if not host:
        return None
    where = urlsplit(url)
    queues = settings.get("queueendpoint") or _beside_blobs(settings.get("blobendpoint", ""))
    own = bool(_host(queues)) and urlsplit(queues).netloc == where.netloc
    # A key is shown to nobody; a SAS is, so that it goes to the account's own host alone.
    theirs = account and (host.partition(".")[0] == account or where.path.strip("/") == account)
    if not own and not theirs:
        return None
    found = _shown(settings, account)
    if isinstance(found, str) and not own and not host.endswith(".core.windows.net"):
        return None
    return found


def _shown(settings: Mapping[str, str], account: str) -> Any:
    if settings.get("accountkey"):
        return {"account_name": account, "account_key": settings["accountkey"]}
    return settings.get("sharedaccesssignature", "").lstrip("?") or None


def _settings(given: Mapping[str, str]) -> dict[str, str]:
    """Return what the environment says of the account, by the names of a connection string."""
    whole = given.get("AZURE_STORAGE_CONNECTION_STRING")
    if whole is not None:
        pairs = (part.partition("=") for part in whole.split(";"))
        return {name.strip().lower(): value.strip() for name, _, value in pairs if name.strip()}
    names = {
        "accountname": ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
        "accountkey": ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
        "sharedaccesssignature": ("AZURE_STORAGE_SAS_TOKEN",),
        "blobendpoint": ("AZURE_STORAGE_ENDPOINT",),
    }
    found = {name: next((given[one] for one in every if one in given), "") for name, every in names.items()}
    return {name: value for name, value in found.items() if value}


def _beside_blobs(blobs: str) -> str:
    """Return where the queues of an account are whose blobs are there, if that can be told from its name.

    >>> _beside_blobs("https://a.blob.core.windows.net/"), _beside_blobs("http://127.0.0.1:10000/a")
    ('https://a.queue.core.windows.net', '')
    """
    return blobs.rstrip("/").replace(".blob.", ".queue.", 1) if ".blob." in blobs else ""


def _client(account: str, name: str, credential: Any, options: StoreOptions) -> QueueClient:
    try:
        from azure.storage.queue import QueueClient
    except ModuleNotFoundError as error:
        raise missing_package("watch", f"{SCHEME}{name}", error.name, "queue") from None
    more: dict[str, Any] = {}
    proxy = options.get("proxy")
    if proxy is not None:
        more["proxies"] = {} if proxy == "none" else {"http": proxy, "https": proxy}
        more["use_env_settings"] = proxy != "none"
    if options.get("ca"):
        more["connection_verify"] = options["ca"]
    return QueueClient(
        account,
        name,
        credential,
        retry_total=0,
        connection_timeout=_CONNECT_S,
        read_timeout=_ANSWER_S,
        logging_enable=False,
        **more,
    )


#: `UseDevelopmentStorage=true`: an emulator on this machine, with the key that its documentation publishes.
_DEVELOPMENT = {
    "accountname": "devstoreaccount1",
    "accountkey": (
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    ),
    "queueendpoint": "http://127.0.0.1:10001/devstoreaccount1",
}


_CHECK_KEY = "check the key, or what the SAS allows and until when"


def _of_azure(operation: str, name: str, error: Exception) -> HaulageError:
    """Return Azure's error as one of ours. Its text may hold a signature: its code is said."""
    from azure.core.exceptions import ClientAuthenticationError, HttpResponseError

    unsigned = isinstance(error, ClientAuthenticationError) and error.status_code is None
    if unsigned:
        return CredentialError(operation, name, "nothing can be signed with the key", _CHECK_KEY)
    if not isinstance(error, HttpResponseError) or error.status_code is None:
        return ConnectionLostError(
            operation, name, f"no answer ({type(error).__name__})", "is the service running?"
        )
    code = getattr(error, "error_code", None)
    code = getattr(code, "value", code) or error.reason or ""
    said = f"{error.status_code} {code}".strip()
    if error.status_code == 404:
        queue = name.partition("?")[0].rstrip("/").rpartition("/")[2]
        hint = f"create the queue first: az storage queue create --name {queue}"
        return NotFoundError(operation, name, said, hint)
    if error.status_code in (401, 403):
        return CredentialError(operation, name, said, _CHECK_KEY)
    if error.status_code in (429, 503):
        return BusyError(operation, name, said, "it is tried again")
    return ServiceError(operation, name, said, "it is tried again")
