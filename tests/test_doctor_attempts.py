"""`haul doctor` where each attempt fails until the time is over: it says how, not that nothing was heard."""

from __future__ import annotations

import re
from typing import Any

import pytest

from doctor_asked import Asked
from haulage import Emulator, make_container
from haulage.doctor import Report, asking, examine
from haulage.doctor.asking import Answer
from haulage.doctor.job import examine_job
from haulage.doctor.rights import examine_reading, examine_writing
from haulage.errors import IntegrityError
from sentences import Sentence

STARTED = b'{"started": true}\n'
DIFFERS = b'{"failed": {"cause": "another checksum", "hint": "h"}}\n'
LATE = b'{"late": 0.1}\n'
BROKEN = IntegrityError("check", "it", "3 attempts within 5 s failed: another checksum", "h")


def examined(monkeypatch: pytest.MonkeyPatch, faults: str, url: str) -> Report:
    # A second attempt comes after more than a second where the service is busy.
    timeout = 3.0 if faults == "busy=100%" else 1.0
    with Emulator(faults=faults) as emulator:
        access = emulator.s3
        for name, value in {
            "AZURE_STORAGE_CONNECTION_STRING": emulator.connection_string,
            "AWS_ENDPOINT_URL": access["endpoint_url"],
            "AWS_ACCESS_KEY_ID": access["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": access["aws_secret_access_key"],
            "AWS_REGION": access["region_name"],
        }.items():
            monkeypatch.setenv(name, value)
        make_container(url)
        return examine(url, write=True, timeout=timeout)


@pytest.mark.parametrize(
    ("url", "faults", "kind", "exit_code", "says", "hint"),
    [
        ("az://ccc", "flip=100%", "integrity", 5, "checksum", "no damaged data was kept"),
        ("az://ccc", "lost=100%", "connection", 1, "connection", "check the network"),
        pytest.param(
            *("s3://ccc", "busy=100%", "busy", 1, "the service is busy", "when the service is less busy"),
            marks=pytest.mark.slow("it waits between its attempts"),
        ),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("az://ccc", "checksum=100%", "integrity", 5, "checksum", "no damaged data was kept"),
                ("az://ccc", "busy=100%", "busy", 1, "the service is busy", "when the service is less busy"),
                ("s3://ccc", "flip=100%", "integrity", 5, "checksum", "no damaged data was kept"),
            )
        ),
    ],
)
def test_a_service_that_fails_each_attempt_is_not_said_to_be_silent(
    url: str,
    faults: str,
    kind: str,
    exit_code: int,
    says: str,
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    report = examined(monkeypatch, faults, url)
    fault = report.find("rights.write")
    assert fault is not None
    assert (fault.level, fault.kind, report.exit_code) == ("fault", kind, exit_code), fault
    assert says in fault.text
    assert re.search("attempts within [13] s failed", fault.text)
    assert fault.hint is not None
    assert hint in fault.hint
    assert "--timeout" not in fault.hint
    assert report.find("rights.left") is not None


def answer_of(said: bytes) -> Answer:
    return asking._read("write", said, hung=False, timeout_s=5.0, code=0)


def test_bytes_that_differ_say_more_than_a_service_that_is_busy_or_silent(sentence: Sentence) -> None:
    busy = b'{"failed": {"cause": "the service is busy", "hint": "w"}}\n'
    silent = b'{"failed": {"cause": "no byte moved for 4.0 s", "hint": null}}\n'
    mixed = answer_of(STARTED + busy + DIFFERS + busy + silent + LATE)
    assert isinstance(mixed.error, IntegrityError)
    sentence(mixed.error.cause)
    alone = answer_of(STARTED + silent + LATE)
    assert alone.hung
    assert alone.error is not None
    assert alone.error.hint == "allow more time: --timeout 30s"


def test_attempts_of_a_step_that_ended_are_not_blamed_for_the_next() -> None:
    answer = answer_of(STARTED + DIFFERS + b'{"partial": {"object": "x"}}\n' + LATE)
    assert answer.hung
    assert not answer.failing
    assert answer_of(STARTED + b'{"partial": {"object": "x"}}\n' + DIFFERS + LATE).failing


@pytest.mark.parametrize(
    ("done", "check", "level"),
    [
        ({}, "rights.read", "fault"),
        ({"read_back": True}, "path.write-rate", "fault"),
        ({"read_back": True, "rate_s": 1.0, "rate_bytes": 1}, "rights.delete", "fault"),
    ],
)
def test_the_step_that_was_under_way_when_the_time_was_over_is_named(
    done: dict[str, Any], check: str, level: str
) -> None:
    told = {"object": "az://c/x", "left": True, "crc64": {"proof": "crc64"}, **done}
    asked = Asked(write=Answer(error=BROKEN, partial=[told], late=True))
    found = {one.check: one for one in examine_writing(asked, "az://c", "", {})}
    assert (found[check].level, found[check].text) == (level, f"check it: {BROKEN.cause}")
    assert found["rights.left"].values == {"object": "az://c/x"}


def test_reading_and_counting_say_what_each_attempt_met() -> None:
    listed = Asked(look=Answer(error=BROKEN, partial=[{"listed": 3, "object": None}], late=True))
    assert [(one.check, one.level) for one in examine_reading(listed, "az://c", "", {}, False)] == [
        ("rights.list", "ok"),
        ("rights.read", "fault"),
    ]
    nothing = Asked(look=Answer(error=BROKEN, late=True))
    assert [one.kind for one in examine_reading(nothing, "az://c", "", {}, False)] == ["integrity"]
    counted = {"objects": 1, "bytes": 1, "largest_bytes": 1}
    ways = ({"service": "azure"}, {"service": "s3"})
    asked = Asked(count=Answer(error=BROKEN, partial=[counted], late=True))
    first = next(iter(examine_job(asked, "az://c", "s3://b", ways, {})))
    assert (first.level, first.text) == ("warning", f"check it: {BROKEN.cause}")


@pytest.mark.slow("it waits between its attempts")
def test_with_v_each_attempt_is_still_shown_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(asking, "verbose", 1)
    examined(monkeypatch, "busy=100%", "az://ccc")
    shown = capfd.readouterr().err
    assert "info: the account devstoreaccount1 is at http" in shown
    assert "after attempt 2: write az://ccc/.haul-doctor-" in shown
    assert "debug: " not in shown
