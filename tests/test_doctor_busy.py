"""`haul doctor` on a busy machine: it says that it could not look, and blames nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor_asked import Asked
from haulage.doctor import answering, asking, network
from haulage.doctor.disks import examine_disk
from haulage.doctor.finding import by_error
from haulage.doctor.rights import examine_reading
from sentences import Sentence


def test_a_busy_machine_is_no_fault_of_what_is_looked_at(sentence: Sentence) -> None:
    started = b'{"started": true}\n'
    for line, hung in ((started + b'{"late": 4.5}\n', False), (b"", True)):
        busy = asking._read("way", line, hung=hung, timeout_s=5.0, code=0)
        assert not busy.hung
        assert busy.error is not None
        found = by_error("network.url", busy.error)
        assert (found.level, found.exit_code) == ("warning", 0)
        sentence(found.hint)
        assert found.text == "not checked: where the URL leads; this machine is too busy to tell"
    for line, hung in ((started + b'{"late": 0.1}\n', False), (started, True)):
        late = asking._read("way", line, hung=hung, timeout_s=5.0, code=0)
        assert late.hung
        assert late.error is not None
        found = by_error("network.url", late.error)
        assert (found.level, found.hint) == ("fault", "allow more time: --timeout 30s")
        assert found.text == "check where the URL leads: no answer within 5 s"
    # What hangs is named with its cause; what could not be looked at says nothing of it.
    for question in asking.WORDS:
        assert callable(answering._answer(question))
    disk, _ = examine_disk(Asked(disk=busy), "/data/x", writes=True)
    assert [one.level for one in disk] == ["warning"]
    way = {"service": "azure", "host": "acc.example", "port": 443, "proxy": None}
    path = list(network.Path(way, Asked(resolve=busy, knock=busy), "az://c", {}).examine())
    assert [one.level for one in path] == ["ok", "warning", "warning"]
    assert next(examine_reading(Asked(look=busy), "az://c", "", {}, False)).level == "warning"


def test_time_without_a_processor_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for task, waited in (("1", "5000000 2500000000 7"), ("2", "1 1000000000 7"), ("3", "torn")):
        (tmp_path / task).mkdir()
        (tmp_path / task / "schedstat").write_text(f"{waited}\n")
    assert answering.starved_s(tmp_path) == 2.5
    assert answering.starved_s(tmp_path / "none") == 0.0

    class EndedError(Exception):
        pass

    def end(_: int) -> None:
        raise EndedError

    # Of each second, a part is spent waiting: the time stretches, up to three times.
    for part, lasts in ((0.0, 5.0), (0.5, 10.0), (0.9, 15.0)):
        now = [100.0]
        told: list[dict[str, float]] = []
        monkeypatch.setattr("haulage.doctor.answering.time.monotonic", lambda now=now: now[0])
        monkeypatch.setattr(
            "haulage.doctor.answering.time.sleep", lambda s, now=now: now.__setitem__(0, now[0] + s)
        )
        monkeypatch.setattr(answering, "starved_s", lambda now=now, part=part: part * (now[0] - 100.0))
        monkeypatch.setattr("haulage.doctor.answering.os._exit", end)
        with pytest.raises(EndedError):
            answering._watch(lambda told=told, **line: told.append(line), {"timeout_s": 5.0, "most_s": 15.0})
        assert now[0] - 100.0 == pytest.approx(lasts, abs=0.01)
        assert told[0]["late"] == pytest.approx(part * lasts, abs=0.01)
