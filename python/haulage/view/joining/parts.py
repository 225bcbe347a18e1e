"""The files that are shown as one, and which of them holds which steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from haulage.view.index.opening import Opened


@dataclass(frozen=True)
class Parts:
    """Files one after another along a dimension, in the order of their times."""

    dim: str
    base: Opened  #: whose attributes, and variables without this dimension, are shown
    files: tuple[Opened, ...]
    starts: tuple[int, ...]  #: the first step of each file; at the end, how many steps there are
    held: dict[str, np.ndarray[Any, Any]]  #: values of times, in the units of ``base``
    decoded: frozenset[str]  #: variables that are not packed alike: their values as they are meant
    left_out: dict[str, str]  #: names of files that do not fit, and why

    def pieces(self, start: int, stop: int) -> Iterator[tuple[Opened, tuple[int, int]]]:
        """Yield the files that hold steps from ``start`` to before ``stop``, and the steps within each."""
        for file, first, end in zip(self.files, self.starts, self.starts[1:], strict=False):
            if first < stop and end > start:
                yield file, (max(start - first, 0), min(stop, end) - first)
