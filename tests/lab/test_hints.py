"""What the lab says to do about what cannot be run, read or written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from command import Haul
from haulage import lab
from haulage.errors import (
    ExistsError,
    HaulageError,
    IntegrityError,
    LocalIOError,
    NotFoundError,
    ServiceError,
    StorageFullError,
    UnsupportedError,
    UsageError,
)
from haulage.lab import generate, planfile, profile, runner
from haulage.lab.analysis import ledger, query
from haulage.lab.arms.external import find
from haulage.lab.cli import generate as generating
from haulage.lab.cli.network import own_network
from haulage.lab.experiments import trial
from haulage.lab.report.compare import compare
from haulage.lab.report.verify import verify
from haulage.lab.store import RunStore
from haulage.lab.target import Endpoint, parse_target, remove_below, start_emulator
from lab import made_runs, synthetic
from sentences import Sentence

NAME = 'name = "mine"\n'
ARM = '[[arms]]\nmethod = "blocks"\n'
FILES = '[[files]]\nsize = "1MiB"\n'

PLANS = [
    "name = ",
    NAME + "replicates = 0\n" + ARM + FILES,
    NAME + "warm_up = -1\n" + ARM + FILES,
    NAME + "arms = 3\n" + FILES,
    NAME + "stop = 3\n" + ARM + FILES,
    NAME + ARM + FILES + "[stop]\nrelative_width = -1\n",
    NAME + ARM,
    NAME + ARM + ARM + FILES,
    NAME + 'source = "memory"\n[[arms]]\nmethod = "baseline"\nclient = "plain"\n' + FILES,
    NAME + 'again = "nobody"\n' + ARM + FILES,
    NAME + '[[arms]]\nmethod = "baseline"\nconcurrency = 2\n' + FILES,
]


@pytest.mark.parametrize("text", PLANS)
def test_a_plan(tmp_path: Path, text: str, sentence: Sentence) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        planfile.load(str(path))
    sentence(caught.value)


def test_a_setting_below_what_is_no_table() -> None:
    with pytest.raises(UsageError) as caught:
        planfile.load("concurrency", overrides={"name.x": 1})
    assert caught.value.hint == "write KEY=VALUE or TABLE.KEY=VALUE"


URL = "https://a.blob.core.windows.net/c"
NOWHERE = Endpoint("http://127.0.0.1:9/account/lab", "sig=x")
Act = Callable[[Path], object]


def in_latin_1(at: Path) -> Path:
    (at / "plan.toml").write_bytes('name = "Z\u00fcrich"'.encode("latin-1"))
    return at / "plan.toml"


def unfinished(tmp_path: Path) -> Path:
    """Return a folder that holds the manifest of a run and nothing else."""
    (tmp_path / "manifest.json").write_text(json.dumps({"plan": "concurrency"}))
    return tmp_path


def killed(tmp_path: Path) -> Path:
    """Return the folder of a run that ended before its tables were made."""
    (tmp_path / "cells").mkdir()
    return unfinished(tmp_path)


def unreported(tmp_path: Path) -> Path:
    return made_runs.write(tmp_path / "run", [made_runs.cell(0)])


def changed(tmp_path: Path) -> Path:
    (unreported(tmp_path) / "plan.toml").write_text("# another")
    return tmp_path / "run"


def with_linked_results(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    (unreported(tmp_path) / "results").symlink_to(tmp_path / "elsewhere")
    return tmp_path / "run"


def foreign(tmp_path: Path) -> Path:
    """Return a folder with a manifest that is another program's."""
    (tmp_path / "manifest.json").write_text('{"name": "an extension", "manifest_version": 3}')
    return tmp_path


def a_file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("mine")
    return tmp_path / "file"


def one_size(tmp_path: Path, name: str, size: int) -> Path:
    return synthetic.write(tmp_path / name, attempts=500, replicates=2, sizes=[size])


def of_another_version(tmp_path: Path) -> None:
    run = one_size(tmp_path, "run", synthetic.MIB)
    (run / "cells.parquet").write_bytes((run / "attempts.parquet").read_bytes())
    query.run(query.open_run(run))


def another_plan(tmp_path: Path) -> None:
    run = one_size(tmp_path, "run", synthetic.MIB)
    runner.run(planfile.load("concurrency"), parse_target("emulated:none"), run, continue_=True)


def overlapping() -> pd.DataFrame:
    return pd.DataFrame({"cell": [0], "lanes": [1], "wall_ns": [10], "spent_ns": [12], "category": ["send"]})


ACTS: list[tuple[type[HaulageError], Act]] = [
    (UsageError, lambda _: parse_target(URL, faults="flip=1%")),
    (UsageError, lambda _: parse_target("http://[::1/data?sig=AAAA")),
    (UsageError, lambda _: Endpoint(URL, "").http_url("x")),
    (ServiceError, lambda _: remove_below(NOWHERE)),
    (UsageError, lambda _: generating._specs("netcdf", ("1MB",), None, 1, 1)),
    (UsageError, lambda _: generating._specs("tree", ("1MB", "2MB"), None, 1, 1)),
    (StorageFullError, lambda at: next(generate.write(at, [generate.Spec("x", 1 << 60, 1)]))),
    (NotFoundError, lambda at: profile.measure(unfinished(at))),
    (NotFoundError, lambda at: verify(at)),
    (NotFoundError, lambda at: verify(unreported(at))),
    (UsageError, lambda at: verify(unfinished(at))),
    (UsageError, lambda at: lab.load(foreign(at))),
    (IntegrityError, lambda at: lab.report(changed(at))),
    (ExistsError, lambda at: lab.report(with_linked_results(at))),
    (UsageError, lambda at: planfile.load(str(in_latin_1(at)))),
    (UsageError, lambda _: runner.folder_of(" ")),
    (UsageError, lambda _: runner.folder_of("az://runs/mine")),
    (ExistsError, lambda at: RunStore.create(a_file(at), "", {})),
    (LocalIOError, lambda at: RunStore.create(a_file(at) / "x", "", {})),
    (ExistsError, lambda at: generate.require_free(a_file(at), [])),
    (ExistsError, lambda at: generate.require_free(a_file(at).parent, [generate.Spec("file", 5, 1)])),
    (NotFoundError, lambda at: query.open_run(killed(at))),
    (NotFoundError, lambda at: lab.load(one_size(at, "run", synthetic.MIB)).table("nothing")),
    (UsageError, lambda at: compare(one_size(at, "a", synthetic.MIB), one_size(at, "b", synthetic.KIB))),
    (UsageError, lambda _: query.parse("mine", "select 1")),
    (UsageError, lambda _: query.parse("mine", "-- titel: x\n")),
    (NotFoundError, lambda at: query.run(query.open_run(one_size(at, "run", synthetic.MIB)), ["no-such"])),
    (IntegrityError, lambda _: ledger.check(overlapping().to_dict("records"))),
    (UsageError, another_plan),
    (ExistsError, lambda at: lab.run("concurrency", directory=unfinished(at))),
    (
        ServiceError,
        lambda at: trial.Site(NOWHERE, at, {"PYTHONHOME": "/nowhere"}).transfer(trial.Setting(1, 1000, 1)),
    ),
    (ServiceError, lambda _: start_emulator(store="/dev/null/x")),
    (UsageError, of_another_version),
]


@pytest.mark.parametrize(
    ("kind", "act"),
    ACTS,
    ids=[f"{number} {kind.__name__}" for number, (kind, *_) in enumerate(ACTS)],
)
def test_what_cannot_be_done(tmp_path: Path, kind: type[HaulageError], act: Act, sentence: Sentence) -> None:
    with pytest.raises(kind) as caught:
        act(tmp_path)
    sentence(caught.value.hint)


def test_a_run_has_its_plan(haul: Haul, sentence: Sentence) -> None:
    said = haul("lab", "run", "concurrency", "--continue", "run", code=2)
    sentence(said.stderr)


def test_a_run_that_sweeps_nothing(haul: Haul, tmp_path: Path, sentence: Sentence) -> None:
    run = synthetic.write(
        tmp_path / "run",
        attempts=500,
        replicates=2,
        treatments=synthetic.TREATMENTS[:2],
        sizes=[synthetic.MIB],
    )
    said = haul("lab", "profile", run, code=2)
    sentence(said.stderr)


def test_tools_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: Sentence
) -> None:
    monkeypatch.setenv("RCLONE", str(tmp_path / "nowhere"))
    with pytest.raises(NotFoundError) as caught:
        find("rclone")
    sentence(caught.value)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HAUL_LAB_NETWORK", raising=False)
    with pytest.raises(UnsupportedError) as alone:
        own_network(parse_target("packets:rtt=5ms"))
    assert alone.value.hint == "install util-linux; needs Linux"
