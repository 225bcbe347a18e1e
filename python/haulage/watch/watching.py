"""The loop: what was read changes what is known; now and then that is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from haulage.watch import state as states
from haulage.watch.following import Away, Failed, Heard, Looked
from haulage.watch.line import Batch, Line
from haulage.watch.rows import Rows
from haulage.watch.snapshot import snapshot
from haulage.watch.state import Message, State, Stream
from haulage.watch.updates import apply, tick

#: How often it is drawn, and how soon where somebody is in trouble.
DRAW_S = 1.0
URGENT_S = 0.3
URGENT = frozenset({"silent", "panic", "node_lost", "uncaught", "away"})
#: When all have ended, another may begin so shortly afterwards: the next of a row of workers.
LINGER_NS = 2 * 10**9
#: How long what stands beside the log is waited for, where it is looked at once.
ONCE_NS = 10 * 10**9


class Reading(Protocol):
    """Reads the log: a :class:`~haulage.watch.following.Follower`, or what takes its place in a test."""

    def get(self, wait_s: float) -> Heard | None:
        """Return the next that came; ``None`` if nothing did for so long."""
        ...


class View(Protocol):
    """Shows what is known."""

    def say(self, message: Message) -> None:
        """Something happened that a person should read."""
        ...

    def draw(self, shown: dict[str, Any], *, last: bool) -> None:
        """Show all of it; ``last`` says that nothing will follow."""
        ...

    def close(self) -> None:
        """Leave the screen as it was."""
        ...


@dataclass
class Watching:
    """What is watched, and what becomes of it.

    Attributes:
        follower: Reads.
        source: Its name, without a secret.
        now: Returns nanoseconds since 1970; of the job, where one is replayed.
        monotonic: Returns seconds, for drawing.
        rows: Keep what happened.
        views: Show it.
        once: End when all that is there has been read.
        follow: Go on when all have ended.
        awaited: The names of what stands beside the log, and has not been looked at yet.
    """

    follower: Reading
    source: str
    now: Callable[[], int]
    monotonic: Callable[[], float]
    rows: Sequence[Rows] = ()
    views: Sequence[View] = ()
    once: bool = False
    follow: bool = False
    awaited: set[str] = field(default_factory=set)
    _first_ns: int = 0
    #: Streams whose clock disagrees with ours, each with the time of its last line at the first look.
    _doubted: list[tuple[Stream, int]] | None = None
    state: State = field(default_factory=State)
    draw_s: float = DRAW_S  #: from one drawing to the next

    def run(self) -> int:
        """Watch until it ends; return the exit code."""
        drawn = self.monotonic()
        over = False
        while not over:
            heard = self.follower.get(drawn + self.draw_s - self.monotonic())
            if isinstance(heard, Batch):
                self._take(heard)
            elif isinstance(heard, Looked | Away) and heard.beside:
                self._beside(heard)
            elif isinstance(heard, Looked):
                over = self._looked(heard)
            elif isinstance(heard, Away):
                states.away(self.state, str(heard.error), self.now())
                # A first look has shown what there is.
                over = self.once and self._first_ns > 0
            elif isinstance(heard, Failed):
                raise heard.error
            if not over and self.monotonic() - drawn >= self.draw_s:
                drawn, self.draw_s = self.monotonic(), DRAW_S
                self._draw(last=False)
        self._draw(last=True)
        return states.exit_code(self.state)

    def _take(self, batch: Batch) -> None:
        state, now = self.state, self.now()
        state.unread += batch.unread
        for line in batch.lines:
            message = apply(state, line, now, live=batch.live, modified_ns=batch.modified_ns)
            if message is not None:
                self._say(message)
        for rows in self.rows:
            rows.add(batch.lines)
        if batch.taken is not None:
            batch.taken()

    def _beside(self, heard: Looked | Away) -> None:
        """Take in how it is with what stands beside the log; say where that changes."""
        state, name, now = self.state, heard.beside, self.now()
        self.awaited.discard(name)
        if isinstance(heard, Away):
            news, event = states.beside_away(state, name, heard.error.cause, now), "away"
        else:
            news, event = states.beside_read(state, name), "back"
        if news:
            words = f"cannot be read: {heard.error}" if isinstance(heard, Away) else "can be read again"
            values = {"event": event, "object": name, "message": words}
            line = Line("", "", "", None, now, event, values)
            message = apply(state, line, now)
            assert message is not None
            for rows in self.rows:
                rows.add([line])
            self._say(message)

    def _looked(self, looked: Looked) -> bool:
        """Take in that all was read; return whether this is the end."""
        now = self.now()
        states.read(self.state, looked.at_ns)
        self.state.over = looked.ended
        over = self._is_over(now, looked.ended)
        fallen = tick(self.state, now, last=over)
        for rows in self.rows:
            rows.add([line for line, _ in fallen])
        for _, message in fallen:
            self._say(message)
        return over

    def _is_over(self, now: int, ended: bool) -> bool:
        if self.once:
            # What stands beside it may take longer to answer, or never do.
            self._first_ns = self._first_ns or now
            return self._is_clear() and (not self.awaited or now - self._first_ns > ONCE_NS)
        if self.follow:
            return False
        return ended or (states.finished(self.state) and now - self.state.changed_ns >= LINGER_NS)

    def _is_clear(self) -> bool:
        """Whether what was read tells who is there.

        The clocks may disagree: by its own, a stream has been silent for long, but it was just written to. It
        may be there and its clock be behind, or somebody has copied the log of one that was killed. One that
        is there writes each second, so that is waited for, until it counts as silent.
        """
        state = self.state
        if self._doubted is None:
            self._doubted = [
                (stream, stream.last_unix_ns)
                for stream in states.streams_of(state)
                if stream.what and state.read_ns - stream.last_unix_ns >= states.SILENT_NS
            ]
        return not any(
            stream.last_unix_ns == last_ns and stream.tasks is None and states.is_heard(state, stream)
            for stream, last_ns in self._doubted
        )

    def _say(self, message: Message) -> None:
        if message.event in URGENT:
            self.draw_s = URGENT_S
        for view in self.views:
            view.say(message)

    def _draw(self, *, last: bool) -> None:
        shown = snapshot(self.state, self.now(), source=self.source)
        for view in self.views:
            view.draw(shown, last=last)
