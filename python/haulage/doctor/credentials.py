"""Credentials: which lie around, which one would be used, and whether it can be good. Never what they are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error as ConfigError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from haulage.doctor.asking import Answer
from haulage.doctor.finding import Finding, by_error
from haulage.doctor.signatures import LETTERS, Signature, used
from haulage.words.numbers import counted

_AZURE = (
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_ENDPOINT",
    "AZURE_STORAGE_BEARER_TOKEN",
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_SERVICE_CONNECTION_ID",
    "AZURE_AUTHORITY_HOST",
)
_AWS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)
#: Files in which tools keep what lets them in.
_FILES = (
    "~/.aws/credentials",
    "~/.aws/config",
    "~/.azure/msal_token_cache.json",
    "~/.azure/azureProfile.json",
)
#: What goes wrong with a variable that is pasted.
_ODD = ('"', "'", "\n", " ", "\r")
#: A credential that ends sooner than this is worth a word.
SOON_S = 3600.0


def examine_found(environment: Mapping[str, str] = os.environ, *, new: bool = False) -> Iterator[Finding]:
    """Yield which variables and files are there that may let somebody in.

    Args:
        environment: Where to look.
        new: Whether somebody who has none may just want to try it.
    """
    names = [name for name in (*_AZURE, *_AWS) if environment.get(name, "").strip()]
    home = Path(environment.get("HOME", "~")).expanduser()
    files = [name for name in _FILES if (home / name[2:]).is_file()]
    values = {"variables": names, "files": files}
    text = f"found: {', '.join([*names, *files]) or 'no variables, no files'}"
    there = bool(names or files)
    hint = (
        None if there or not new else "to try it without an account: haul emulate, a service on this machine"
    )
    yield Finding("credentials.found", "ok" if there else "note", text, hint, values=values)
    for name in names:
        if name.endswith(("KEY", "TOKEN", "STRING", "KEY_ID")) and _is_odd(environment[name]):
            hint = "set it again without quotes, spaces or line breaks"
            yield Finding("credentials.odd", "warning", f"{name} contains quotes or white space", hint)
    half = [name for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if name in names]
    if len(half) == 1:
        hint = "set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        yield Finding("credentials.odd", "warning", f"{half[0]} is set, but not the other one", hint)
    yield from examine_region(environment)


def examine_region(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield whether tools find different regions: boto3 reads one of the variables, others no profile."""
    seen = {name: environment.get(name, "").strip() for name in ("AWS_REGION", "AWS_DEFAULT_REGION")}
    profile = next(filter(None, map(environment.get, ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"))), "default")
    of_profile = _region_of(profile, environment)
    if of_profile:
        seen[f"profile {profile}"] = of_profile
    region = next(filter(None, seen.values()), None)
    if region is None or {*seen.values()} == {region}:
        return
    told = ", ".join(f"{name} {value or 'is not set'}" for name, value in seen.items())
    hint = f"set both variables, for all tools: export AWS_REGION={region} AWS_DEFAULT_REGION={region}"
    text = f"not all tools find the same region: {told}"
    yield Finding("credentials.region", "note", text, hint, values={**seen, "used": region})


def _region_of(profile: str, environment: Mapping[str, str]) -> str | None:
    """Return the region that a profile names in the file of AWS."""
    home = Path(environment.get("HOME", "~")).expanduser()
    file = ConfigParser(interpolation=None, strict=False)
    try:
        file.read(environment.get("AWS_CONFIG_FILE") or home / ".aws/config", encoding="utf-8")
    except (ConfigError, OSError, ValueError):
        return None
    sections = [f"profile {profile}", *(["default"] if profile == "default" else [])]
    return next(filter(None, (file.get(one, "region", fallback=None) for one in sections)), None)


def _is_odd(text: str) -> bool:
    return any(odd in text for odd in _ODD)


def examine_identity(
    answer: Answer,
    url: str,
    now_s: float,
    secure: bool,
    wanted: str,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[Finding]:
    """Yield who would ask, and what is wrong with that as far as it says itself.

    Args:
        answer: What the engine said to ``identity``.
        url: With its SAS, where it has one.
        now_s: Seconds since 1970, by the service's clock where that is known.
        secure: Whether the URL leads to https.
        wanted: The permissions that are needed, a letter each.
        environment: Where the engine found the credential.
    """
    if answer.error is not None:
        yield by_error("credentials.used", answer.error)
        return
    found: dict[str, Any] = answer.value
    source, kind, ends = found["source"], found["kind"], found["ends_s"]
    text = f"used: {kind}, from {source}"
    values = {"kind": kind, "source": source, "ends_s": ends}
    if ends is not None:
        left = ends - now_s
        text += f", good until {_shown(datetime.fromtimestamp(ends, UTC))}"
        if left <= 0:
            hint = "sign in again, or fetch new keys"
            yield Finding(
                "credentials.used", "fault", f"{text}, which has passed", hint, "permission", values
            )
            return
    yield Finding("credentials.used", "ok", text, values=values)
    if kind == "SAS":
        signature = used(url, source, environment)
        if signature is not None:
            yield from _examine_sas(signature, now_s, secure, wanted)


def _examine_sas(sas: Signature, now_s: float, secure: bool, wanted: str) -> Iterator[Finding]:
    check = "credentials.sas"
    now = datetime.fromtimestamp(now_s, UTC)
    values = {
        "starts": sas.starts and sas.starts.isoformat(),
        "expires": sas.expires and sas.expires.isoformat(),
        "permissions": sas.permissions,
    }
    faults = list(_sas_faults(sas, now, secure))
    for text, hint in faults:
        yield Finding(check, "fault", text, hint, "permission", values)
    lacks = sas.lacks(wanted)
    if lacks:
        words = ", ".join(f"{letter} ({LETTERS[letter]})" for letter in lacks)
        hint = f"make a SAS with sp={''.join(dict.fromkeys((sas.permissions or '') + lacks))}"
        text = f"the SAS has sp={sas.permissions} and lacks {words}"
        yield Finding("credentials.permissions", "fault", text, hint, "permission", values)
    if sas.ip is not None:
        hint = "if the service sees another address for this machine, make the SAS for that one"
        yield Finding("credentials.sas-address", "note", f"the SAS is for requests from {sas.ip} only", hint)
    if faults:
        return
    if sas.expires is not None and (sas.expires - now).total_seconds() < SOON_S:
        minutes = (sas.expires - now).total_seconds() / 60
        hint = "make one that lasts for the whole copy; an interrupted copy can resume with a new one"
        yield Finding(
            check, "warning", f"the SAS ends in {counted(round(minutes), 'minute')}", hint, values=values
        )
        return
    until = f", until {_shown(sas.expires)}" if sas.expires else ""
    allows = (
        f"the SAS allows sp={sas.permissions}"
        if sas.permissions
        else "a stored policy defines what the SAS allows"
    )
    yield Finding(check, "ok", f"{allows}{until}", values=values)


def _sas_faults(sas: Signature, now: datetime, secure: bool) -> Iterator[tuple[str, str]]:
    if not sas.signed:
        yield (
            "the SAS has no signature (sig=)",
            "copy all of it again, and quote the URL in the shell: it contains &",
        )
    if sas.expires is not None and sas.expires <= now:
        yield f"the SAS expired on {_shown(sas.expires)}", "make a new SAS and run the same command again"
    if sas.starts is not None and sas.starts > now:
        hint = "wait until then, or make a SAS that starts 15 minutes ago, as clocks differ"
        yield f"the SAS is not valid before {_shown(sas.starts)}", hint
    if sas.https_only and not secure:
        yield "the SAS is for https only (spr=https), but the URL says http", "write the URL with https://"
    if sas.services is not None and "b" not in sas.services:
        yield f"the SAS is not for blobs (ss={sas.services})", "make a SAS with ss=b"
    if sas.resource_types is not None and not {"c", "o"} <= set(sas.resource_types):
        hint = "make a SAS with srt=co: containers, to list, and objects, to read and write"
        yield f"the SAS does not cover containers and objects (srt={sas.resource_types})", hint


def _shown(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
