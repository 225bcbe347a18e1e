"""Which errors are faults of what a file holds: the rest of the file can be read all the same."""

from __future__ import annotations

from haulage.errors import IntegrityError, ProtocolError, UnsupportedError

#: All others are those of the store, or of the request; what was asked for may be there a moment later.
OF_THE_FILE = (IntegrityError, ProtocolError, UnsupportedError)
