"""Lines in messages: what goes in comes out, in order, in as few bytes as the service takes."""

from __future__ import annotations

import base64
import gzip
import json
import random
from typing import Any

from hypothesis import given, strategies as some

from haulage.watch.lengths import ROW_NS, Trend
from haulage.watch.line import Line, Seen, of_log
from haulage.watch.queues.messages import LONGEST_BYTES, WHOLE_BYTES, packed, unpacked, without_samples
from watch.writing import JOB, SECOND, T0


def line(seq: int, event: str = "log", stream: str = "a" * 8, **fields: Any) -> Line:
    whose = {"job": JOB, "node": "node-1", "stream": stream, "seq": seq, "time_unix_ns": T0}
    made = of_log({**whose, "event": event, **fields})
    assert made is not None
    return made


def through(lines: list[Line]) -> tuple[list[Line], list[str]]:
    values, _ = without_samples(lines)
    messages = [message for message, _ in packed(values)]
    found = [one for message in messages for one in unpacked(message) or ()]
    return [one for one in found if one is not None], messages


def test_all_lines_come_out_in_their_order() -> None:
    lines = [line(seq, message=f"step {seq} of many") for seq in range(20_000)]
    found, messages = through(lines)
    assert found == lines
    assert max(len(message) for message in messages) <= LONGEST_BYTES
    # A reader who looks sees 32 messages: they hold some 100,000 lines.
    assert len(messages) < 10


def test_no_message_is_too_long_whatever_is_in_it() -> None:
    dice = random.Random(7)
    texts = ["".join(chr(dice.randrange(32, 0x2FFF)) for _ in range(15_000)) for _ in range(6)]
    lines = [line(seq, message=text, traceback=text[::-1]) for seq, text in enumerate(texts)]
    found, messages = through(lines)
    assert max(len(message) for message in messages) <= LONGEST_BYTES
    assert [one.seq for one in found] == [*range(6)]
    for one, text in zip(found, texts, strict=True):
        kept = one.values["message"].removeprefix("[...]")
        assert text.endswith(kept)
        assert one.values.get("shortened") is (True if kept != text else None)


def test_a_line_without_long_texts_that_fits_no_message_keeps_its_number() -> None:
    dice = random.Random(3)
    found, messages = through([line(0, "summary", failures=[dice.random() for _ in range(9_000)])])
    assert max(len(message) for message in messages) <= LONGEST_BYTES
    assert (found[0].seq, found[0].event, found[0].values["shortened"]) == (0, "summary", True)


@given(some.lists(some.tuples(some.sampled_from("ab"), some.sampled_from(["progress", "object"]))))
def test_samples_that_are_left_out_are_numbered_and_nothing_else_is_missing(
    said: list[tuple[str, str]],
) -> None:
    next_ = {"a": 0, "b": 0}
    lines = []
    for stream, event in said:
        lines.append(line(next_[stream], event, stream * 8))
        next_[stream] += 1
    found, _ = through(lines)
    # Put together again, in two parts, it is the same.
    parts = [found[: len(found) // 2], found[len(found) // 2 :]]
    again, _ = through([one for part in parts for one in through(part)[0]])
    assert {one.seq for one in again if one.event == "object"} == {
        one.seq for one in found if one.event == "object"
    }
    assert sum(one.event == "progress" for one in again) <= sum(one.event == "progress" for one in found)
    found = again
    seen = {stream * 8: Seen() for stream in next_}
    for one in found:
        assert one.seq is not None
        until = one.values["until"] if one.event == "left_out" else one.seq + 1
        assert all(seen[one.stream].new(seq) for seq in range(one.seq, until))
    assert {stream: seen[stream * 8].until() for stream in next_} == next_
    assert [one for one in found if one.event == "object"] == [one for one in lines if one.event == "object"]
    for stream in next_:
        # The last sample is there.
        samples = [one for one in lines if one.event == "progress" and one.stream == stream * 8]
        assert not samples or samples[-1] in found


@given(some.lists(some.tuples(some.booleans(), some.integers(0, 20), some.integers(1, 9))))
def test_numbers_that_are_left_out_are_as_if_each_had_come(said: list[tuple[bool, int, int]]) -> None:
    at_once, each = Seen(), Seen()
    for left_out, first, count in said:
        if left_out:
            at_once.left_out(first, first + count)
            for seq in range(first, first + count):
                each.new(seq)
        else:
            assert at_once.new(first) == each.new(first)
        assert (at_once.next, at_once.until(), at_once.missing()) == (each.next, each.until(), each.missing())


def test_who_reads_a_queue_waits_for_no_number_however_many_are_left_out() -> None:
    whose = {"job": JOB, "node": "n", "stream": "a" * 8, "seq": 3, "time_unix_ns": T0, "event": "left_out"}
    for until in (None, "9", 3, 2, -1, 10**30):
        ((message, _),) = packed([{**whose, "until": until}])
        assert [one.event for one in unpacked(message) or ()] == [""], until
    ((message, _),) = packed([{**whose, "until": 1 << 61}])
    (found,) = unpacked(message) or [line(0)]
    assert found.event == "left_out"
    seen = Seen()
    seen.left_out(3, found.values["until"])
    assert (seen.next, seen.missing()) == (1 << 61, 3)


def test_what_is_none_of_ours_is_told_apart() -> None:
    bomb = base64.b64encode(gzip.compress(bytes(100 * WHOLE_BYTES))).decode()
    for content in ("", "hello", "aGVsbG8=", json.dumps({"event": "log"}), bomb, "é", "a" * 70_000):
        assert unpacked(content) is None


def test_the_trend_of_a_queue_is_that_of_the_last_minute() -> None:
    trend = Trend()
    told: dict[str, Any] = {}
    for second in range(300):
        # It grows for four minutes, then it is worked off.
        told = trend.add(second * SECOND, second if second < 240 else 240 - 2 * (second - 240))
    assert told["messages"] == 122
    assert abs(told["messages_per_second"] + 2) < 0.1
    assert abs(told["eta_ns"] - 61 * SECOND) < 3 * SECOND


def test_a_queue_that_stands_still_has_no_end() -> None:
    trend = Trend()
    told = [trend.add(second * SECOND, 7) for second in range(30)]
    assert told[-1]["eta_ns"] is None
    assert told[-1]["messages_per_second"] == 0
    assert [one["keep"] for one in told] == [True] + 29 * [False]


def test_a_row_is_kept_now_and_then_and_when_the_last_message_is_gone() -> None:
    trend = Trend()
    kept = [second for second in range(25) if trend.add(second * SECOND, max(0, 23 - second))["keep"]]
    assert kept == [0, ROW_NS // SECOND, 2 * ROW_NS // SECOND, 23]
