"""A process that makes one transfer after another: imports and threads are paid for once.

It has its own connections and memory, and can be started in another environment, as a slow disk is for
the truth set, or on some of the processors, which an engine that runs cannot be moved to.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from haulage.errors import ServiceError

#: A process whose orders have ended ends so soon.
_ENDS_S = 5.0


class Worker:
    """Runs a module of Python that answers each line of JSON on stdin by one on stdout.

    Args:
        module: Its name.
        environment: Beside this process's own.
        cpus: Processors that it may use; default those of this process.
    """

    def __init__(
        self, module: str, environment: Mapping[str, str], cpus: Sequence[int] | None = None
    ) -> None:
        # A pipe that nobody reads would hold up a process that says much.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, ",".join(map(str, cpus or []))],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env={**os.environ, **environment},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout

    def ask(self, order: Mapping[str, Any], longest_s: float, place: str) -> dict[str, Any]:
        """Return the answer to an order.

        Args:
            order: For the module.
            longest_s: An answer that takes longer is given up, and the process with it.
            place: Where the transfer goes, for the error.

        Raises:
            ServiceError: No answer.
        """
        line, cause = b"", ""
        with suppress(BrokenPipeError):
            self._orders.write(json.dumps(order).encode() + b"\n")
            if select.select([self._answers], [], [], longest_s)[0]:
                line = self._answers.readline()
            else:
                cause = f"took longer than {longest_s:g} s"
                self._process.kill()
        if line.endswith(b"\n"):
            answer: dict[str, Any] = json.loads(line)
            return answer
        said = self.close()
        raise ServiceError("experiment", place, cause or said, "try haul cp to the same place")

    @property
    def ended(self) -> bool:
        """Whether it answers no more."""
        return self._process.poll() is not None

    def close(self) -> str:
        """Stop it; return what it said last."""
        if self._said.closed:
            return ""
        self._orders.close()
        try:
            code = self._process.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._answers.close()
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        self._said.close()
        return lines[-1] if lines else f"exit code {code}"
