"""Names for people; pure."""

from __future__ import annotations

import re

from haulage.words.printable import escaped

#: What follows a name with one of these is a secret, wherever it stands.
_SECRET = re.compile(
    r"(?i)\b(sig|signature|token|accountkey|secret|password|passwd|x-amz-signature|x-amz-credential"
    r"|x-amz-security-token|access_key|apikey|api_key)=[^&\s;\"']*"
)
_USER = re.compile(r"(?<=://)[^/@\s]*@")
#: Longer names are cut in the middle.
_LONGEST = 90


def shown(name: str, longest: int = _LONGEST) -> str:
    r"""Return a name for people: without secrets, control characters escaped, not too long.

    >>> shown("a\x1b[31mb?sv=1&sig=abc%3D")
    'a\\x1b[31mb?sv=1&sig=...'
    """
    clean = _USER.sub("", _SECRET.sub(lambda match: f"{match[1]}=...", name))
    plain = escaped(clean)
    if len(plain) > longest:
        half = (longest - 3) // 2
        plain = f"{plain[:half]}...{plain[-half:]}"
    return plain
