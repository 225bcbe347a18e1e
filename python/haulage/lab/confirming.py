"""After a run: short experiments on its path that confirm what its record makes likely, or rule it out."""

from __future__ import annotations

import tempfile
from pathlib import Path

from haulage.causes.verdict import Verdict
from haulage.lab.analysis.evidence import EVIDENCE, gather, main_subject
from haulage.lab.analysis.query import open_run, run
from haulage.lab.experiments.confirm import Said, base_setting, save, settle
from haulage.lab.experiments.trial import Site
from haulage.lab.planfile import parse
from haulage.lab.store import RunStore, sha256
from haulage.lab.target import Endpoints, Target, remove_below

#: A short transfer that would take longer than this is not short.
LONGEST_S = 3.0


def confirm(directory: Path, target: Target, *, said: Said | None = None) -> Verdict | None:
    """Make some thirty short transfers, up to about half a minute, and keep each as a row of the run.

    They look into the treatment that matters most: the adaptive one, else the quickest, at its largest size.

    Args:
        directory: Of a run that is complete.
        target: Its path.
        said: Called with the number of transfers made and planned.

    Returns:
        The verdict; ``None`` where there is nothing to look into: no engine in the plan, a link that
        is another one in each cell, or one so slow that nothing is short.

    Raises:
        ServiceError: The path does not work any more.
    """
    store = RunStore.open(directory)
    plan = parse(store.plan_values)
    if not plan.one_path:
        return None
    with tempfile.TemporaryDirectory(prefix="haulage-lab-") as scratch:
        made = run(open_run(directory), EVIDENCE, into=Path(scratch) / "results")
        subject = main_subject(gather({result.name: result for result, _ in made}))
        if subject is None:
            return None
        base = base_setting(subject.evidence)
        if 8 * base.files * base.file_bytes / subject.evidence.rate_bits_per_second > LONGEST_S:
            return None
        folder = Path(scratch) / "files"
        folder.mkdir()
        with Endpoints(target, f"haulage-lab/{store.manifest['run']}") as endpoints:
            endpoint = endpoints.get(store=plan.store if subject.direction == "up" else "memory")
            try:
                with Site(endpoint, folder) as site:
                    verdict, rows = settle(subject.evidence, site, said=said)
            finally:
                if not target.emulated:
                    remove_below(endpoint)
    kept = save(rows, directory)
    store.update({"files": store.manifest["files"] | {kept.name: {"sha256": sha256(kept)}}})
    return verdict
