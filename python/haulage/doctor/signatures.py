"""What a SAS says of itself: from when to when, what it allows. The signature itself is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl

#: What each letter allows, as far as a copy needs it.
LETTERS = {"r": "read", "w": "write", "c": "create", "d": "delete", "l": "list", "a": "add"}


@dataclass(frozen=True)
class Signature:
    """The parts of a SAS that may be told."""

    starts: datetime | None
    expires: datetime | None
    permissions: str | None  #: ``None`` where a stored policy has them
    https_only: bool
    ip: str | None
    services: str | None  #: of an account SAS
    resource_types: str | None  #: of an account SAS
    resource: str | None  #: of a service SAS: ``c`` container, ``b`` blob, ``d`` folder
    signed: bool  #: whether there is a signature at all

    @classmethod
    def parse(cls, query: str) -> Signature:
        """Read it, with or without its ``?``.

        >>> Signature.parse("?sp=rl&se=2030-01-01&sig=AAAA").permissions
        'rl'
        """
        parts = dict(parse_qsl(query.strip().lstrip("?"), keep_blank_values=True))
        return cls(
            starts=_time(parts.get("st")),
            expires=_time(parts.get("se")),
            permissions=parts.get("sp"),
            https_only=parts.get("spr") == "https",
            ip=parts.get("sip"),
            services=parts.get("ss"),
            resource_types=parts.get("srt"),
            resource=parts.get("sr"),
            signed=bool(parts.get("sig")),
        )

    def lacks(self, wanted: str) -> str:
        """Return the letters among those wanted that it does not allow."""
        if self.permissions is None:
            return ""
        return "".join(letter for letter in wanted if letter not in self.permissions)


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def used(url: str, source: str, environment: Mapping[str, str]) -> Signature | None:
    """Return what is known of the SAS that the engine says it would use; ``None`` where it is not found."""
    if source == "the URL":
        return Signature.parse(url.partition("?")[2].partition("#")[0])
    text = environment.get(source, "")
    if source == "AZURE_STORAGE_CONNECTION_STRING":
        found = re.search(r"SharedAccessSignature=([^;]*)", text, re.IGNORECASE)
        text = found[1] if found else ""
    return Signature.parse(text) if text else None
