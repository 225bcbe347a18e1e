"""Connecting to a scheduler that somebody has named, which may be anything, or nothing at all.

Dask's own client waits without an end for what accepts a connection and does not answer. It also takes 20 s
to close where it never was connected. So an address is tried first, by a client in a loop of its own, which
can be stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future as Answer, wait
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haulage.errors import (
    ArgumentTypeError,
    CancelledError,
    ConnectionLostError,
    CredentialError,
    HaulageError,
    LocalIOError,
    NotFoundError,
    UsageError,
)

if TYPE_CHECKING:
    from distributed import Client

#: A scheduler that does not answer for so long is not there.
CONNECT_SECONDS = 10.0

#: What has connected by then may still have to say what it is, and a client that is closed to say goodbye.
LAST_SECONDS = 1.0

#: How long a scheduler may take to write its file: whoever reads it meanwhile finds a part of it.
FILE_SECONDS = 1.0

#: How often whoever waits is asked whether it still does, in seconds.
PAUSE = 0.05


def connect(address: str, stopped: Callable[[], bool]) -> Client:
    """Return a client of the scheduler at this address.

    Raises:
        UsageError: It is not an address, or this machine has no certificate for it.
        ConnectionLostError: Nothing answers there, or something that is not a scheduler.
        CancelledError: It was stopped meanwhile.
    """
    from distributed import Client

    _must_be_address(address)
    _in_a_thread(lambda: asyncio.run(_knock(address)), stopped)
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # it has answered a moment ago, and what it says now may be anything
        raise _failure(address, error) from None


def address_in(file: str | PathLike[str]) -> str:
    """Return the address in a file that ``dask scheduler --scheduler-file`` has written.

    Raises:
        NotFoundError: There is no such file.
        UsageError: It does not hold an address.
        CredentialError: It may not be read.
        LocalIOError: It cannot be read.
    """
    if not isinstance(file, (str, PathLike)) or not isinstance(fspath(file), str):
        cause = f"the file is of type {type(file).__name__}, and a path is expected"
        raise ArgumentTypeError("connect", "scheduler_file", cause, "pass a str or a Path")
    shown = fspath(file)
    if not shown:
        raise UsageError("connect", "scheduler_file", "the name of the file is empty", "is a variable unset?")
    hint = f"start one with: dask scheduler --scheduler-file {shown}"
    end = time.monotonic() + FILE_SECONDS
    try:
        while (address := _address(Path(shown).read_bytes())) is None:
            if time.monotonic() > end:
                other = "name the file written by dask scheduler --scheduler-file"
                raise UsageError("connect", shown, "it is not the file of a Dask scheduler", other)
            time.sleep(PAUSE)
    except FileNotFoundError:
        raise NotFoundError("connect", shown, "there is no such file", hint) from None
    except OSError as error:
        kind = CredentialError if isinstance(error, PermissionError) else LocalIOError
        raise kind("connect", shown, error.strerror or str(error), hint) from None
    return address


def _address(content: bytes) -> str | None:
    """Return the address in what a scheduler has written, or None if there is none."""
    try:
        known = json.loads(content)
    except (ValueError, RecursionError):
        return None
    address = known.get("address") if isinstance(known, dict) else None
    return address if isinstance(address, str) and address else None


def _must_be_address(address: Any) -> None:
    """Refuse what no scheduler can be at, before anything is waited for."""
    from distributed.comm import registry
    from distributed.comm.addressing import parse_address

    hint = "write it as dask scheduler prints it: tcp://HOST:PORT or tls://HOST:PORT"
    if not isinstance(address, str):
        cause = f"the address is of type {type(address).__name__}, and text is expected"
        raise ArgumentTypeError("connect", "scheduler", cause, hint)
    if not address.strip():
        raise UsageError("connect", "scheduler", "the address is empty", "is a variable unset? " + hint)
    scheme, place = parse_address(address)
    try:
        registry.get_backend(scheme)
    except ValueError:
        cause = f"no Dask scheduler is reached over {scheme}://"
        raise UsageError("connect", address, cause, hint) from None
    # Within one process a scheduler has a name, and no port.
    if scheme != "inproc" and not _has_port(place):
        raise UsageError("connect", address, "it is not a host and a port", hint)


def _has_port(place: str) -> bool:
    from distributed.comm.addressing import parse_host_port

    try:
        host, port = parse_host_port(place)
    except ValueError:
        return False
    return bool(host) and 0 < port < 1 << 16


async def _knock(address: str) -> None:
    """Connect, and take leave again.

    Raises:
        HaulageError: What answers there is not a scheduler, or nothing does.
    """
    from distributed import Client

    client = Client(address, asynchronous=True, timeout=CONNECT_SECONDS, set_as_default=False)
    try:
        # Dask's limit holds for the connection alone, not for what is said over it.
        await asyncio.wait_for(client, CONNECT_SECONDS + LAST_SECONDS)
    except Exception as error:  # whatever speaks there, Dask takes it for a scheduler and fails somewhere
        if address.startswith("tls://") and client.connection_args.get("ssl_context") is None:
            hint = "set distributed.comm.tls in Dask's configuration, as for the scheduler"
            cause = "this machine has no certificate for tls://"
            raise UsageError("connect", address, cause, hint) from None
        raise _failure(address, error) from None
    finally:
        # One that is closed tells nobody of it when it is collected.
        with contextlib.suppress(Exception):
            await asyncio.wait_for(client.close(), LAST_SECONDS)


def _in_a_thread(run: Callable[[], None], stopped: Callable[[], bool]) -> None:
    """Run something to its end, or until whoever waits for it has stopped; Ctrl-C gets through meanwhile.

    The thread is left to itself then: it ends in a while, and the process does not wait for it.
    """
    ended: Answer[None] = Answer()

    def answer() -> None:
        try:
            run()
            ended.set_result(None)
        except BaseException as error:  # it is raised where the answer is waited for
            ended.set_exception(error)

    threading.Thread(target=answer, name="haulage-connect", daemon=True).start()
    while not wait([ended], timeout=PAUSE).done:
        if stopped():
            raise CancelledError("connect", "the cluster", "cancelled", None)
    ended.result()


def _failure(address: str, error: Exception) -> HaulageError:
    """Return in our words what Dask has raised while it connected."""
    if isinstance(error, HaulageError):
        return error
    hint = "give the address that dask scheduler prints when it starts"
    if isinstance(error, TimeoutError):
        cause = "something accepts connections there, but does not answer as a Dask scheduler does"
        hint = "is it the address that dask scheduler prints when it starts? if so, look at its log"
    elif isinstance(error, OSError):
        cause, hint = _reason(address, error), "is the scheduler running? dask scheduler starts one"
    elif isinstance(error, (ImportError, RuntimeError)):
        # Of versions that do not go together, and of an address that Dask's configuration forbids.
        cause = str(error).partition("\n")[0]
    else:
        cause = "something answers there, but it is not a Dask scheduler"
    return ConnectionLostError("connect", address, cause, hint)


def _reason(address: str, error: BaseException) -> str:
    """Return why there is no connection: Dask says that of its last attempt, within others."""
    from distributed.comm.addressing import parse_host_port

    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # The last attempt has what is left of the time, which may be too short to be refused.
    try:
        socket.create_connection(parse_host_port(address), LAST_SECONDS).close()
    except (OSError, ValueError) as again:
        if isinstance(again, OSError) and again.strerror:
            return again.strerror
    return f"no connection within {CONNECT_SECONDS:.0f} s"
