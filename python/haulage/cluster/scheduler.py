"""The scheduler of a cluster: asked again and again which workers there are, and never waited for for long.

A scheduler that is frozen keeps its connections, so that only a question without an answer shows it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import Future as Answer, wait
from typing import TYPE_CHECKING, Any

from haulage.errors import ConnectionLostError

if TYPE_CHECKING:
    from distributed import Client

#: How often it is asked which workers there are, in seconds.
LOOK_SECONDS = 1.0

#: Silence that is spoken of, and silence after which the scheduler counts as lost.
SILENT_SECONDS = 10.0
LOST_SECONDS = 30.0


def address_of(client: Client) -> str:
    """Return where a client reaches its scheduler, without asking that.

    Raises:
        ConnectionLostError: The client is closed.
    """
    if client.scheduler is None or client.status == "closed":
        hint = "is the cluster healthy? look at its logs"
        raise ConnectionLostError("run", "the cluster", "the client is closed", hint)
    return str(client.scheduler.address)


class Scheduler:
    """What it has said of its workers, and for how long it has not answered."""

    def __init__(self, client: Client) -> None:
        self.address = address_of(client)
        #: The addresses of the workers when it last answered.
        self.workers: set[str] = set()
        self._client = client
        self._answer: Answer[Any] | None = None
        self._asked = float("-inf")
        self._unanswered: float | None = None
        self._looked = float("inf")

    def look(self, now: float) -> bool:
        """Ask, where it is time to, and return whether there is an answer that is new."""
        news = False
        held, self._looked = now - self._looked, now
        if held > LOOK_SECONDS and self._unanswered is not None:
            # Who asks was held up, and with it whoever takes in the answer.
            self._unanswered += held
        if self._answer is not None and self._answer.done():
            # What went wrong shows by itself: it is asked again, and goes on being silent.
            if not self._answer.cancelled() and self._answer.exception() is None:
                came, there = self._answer.result()
                self._unanswered = None
                # Whoever asks was held up: workers may have come since, and be known already.
                news = now - came < LOOK_SECONDS / 2
                self.workers = there if news else self.workers
                self._asked = self._asked if news else float("-inf")
            self._answer = None
        if self._answer is None and now - self._asked >= LOOK_SECONDS and self._client.scheduler is not None:
            self._asked = now
            self._unanswered = now if self._unanswered is None else self._unanswered
            self._answer = self._begin(self._who())
        return news

    def ask_anew(self) -> None:
        """Have the next look ask at once, whatever was asked before."""
        self._answer, self._asked = None, float("-inf")

    def silent(self, now: float) -> float:
        """Return for how many seconds it has owed an answer."""
        return 0.0 if self._unanswered is None else now - self._unanswered

    def forget(self, name: str, seconds: float) -> None:
        """Have it forget what it keeps under a name; it is waited for no longer than that."""
        wait([self._begin(self._client.scheduler.set_metadata(keys=[name], value={}))], timeout=seconds)

    def run_past_it(self, function: Any, *args: Any, workers: Iterable[str], seconds: float) -> None:
        """Call a function on workers without the scheduler, where they can be reached from here."""
        from distributed.protocol.pickle import dumps

        words = {"function": dumps(function), "args": dumps(args), "wait": True}
        answers = [self._begin(self._client.rpc(address).run(**words)) for address in workers]
        wait(answers, timeout=seconds)
        for answer in answers:
            answer.cancel()

    async def _who(self) -> tuple[float, set[str]]:
        told = await self._client.scheduler.identity(n_workers=-1)
        return time.monotonic(), set(told["workers"])

    def _begin(self, question: Any) -> Answer[Any]:
        return asyncio.run_coroutine_threadsafe(question, self._client.loop.asyncio_loop)
