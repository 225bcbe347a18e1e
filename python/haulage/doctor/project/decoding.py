"""The text of a project's file, as its bytes have it."""

from __future__ import annotations

import codecs


def decoded(data: bytes) -> str:
    r"""Return the text: UTF-8, or UTF-16 with its mark, as ``pip freeze >`` on Windows writes it.

    >>> decoded("numpy\r\nxarray\r\n".encode("utf-16"))
    'numpy\nxarray\n'

    Raises:
        UnicodeDecodeError: It is neither.
    """
    is_utf_16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_utf_16 else "utf-8-sig").replace("\r\n", "\n")
