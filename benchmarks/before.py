"""Is it still as quick: another build of the command against this one, in pairs of random order.

python benchmarks/before.py /path/to/former/haul              9 pairs of each case, about five minutes
python benchmarks/before.py /path/to/former/haul --pairs 3    a look
python benchmarks/before.py /path/to/former/haul --only https  the cases whose names hold this word

Files lie in memory, so that no disk is measured; with --on FOLDER they lie there instead, and downloads are
flushed to its disk by a build that flushes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from endpoints import CERTIFICATE
from fill import fill
from harness import Weight, median_with_interval, orders, random_files, weigh
from many import HAUL, serving

MIB = 1 << 20
#: Files, and the bytes of each.
FOLDERS = {"one": (1, 1024 * MIB), "small": (10_000, 4096)}
NAMES = 1_000_000
#: What is run: `{one}` and `{small}` are folders, `{down}` is a new one each time.
UP = ("cp", "{one}", "az://before/one/", "--overwrite", "always")
DOWN = ("cp", "az://before/one/", "{down}")
#: By the name of the case. One that ends with "https" goes to a server of its own, which drops bytes.
CASES = {
    "1 GiB up": UP,
    "1 GiB up, MD5": (*UP, "--checksum", "md5"),
    "1 GiB up, https": UP,
    "1 GiB down": DOWN,
    "1 GiB down, https": DOWN,
    "10,000 files of 4 KiB up": ("cp", "{small}", "az://before/small/", "--overwrite", "always"),
    "10,000 files of 4 KiB down": ("cp", "az://before/small/", "{down}"),
    "1,000,000 names listed": ("ls", "-r", "az://names/"),
}


def main() -> None:
    """Print a line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("former", type=Path, help="the command of another build")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--on", type=Path, default=Path("/dev/shm"), help="where files lie")
    parser.add_argument("--only", default="", help="a part of the names of the cases")
    args = parser.parse_args()
    arms = {"former": args.former, "this": HAUL}
    cases = [case for case in CASES if args.only in case]
    with tempfile.TemporaryDirectory(dir=args.on) as scratch:
        cert, key = certificate(Path(scratch))
        with (
            serving(store="memory") as service,
            serving(more=("--tls-cert", str(cert), "--tls-key", str(key))) as secure,
        ):
            run_all(
                {"": service, "https": secure | {"ca": str(cert)}}, Path(scratch), arms, args.pairs, cases
            )


def run_all(
    services: Mapping[str, Mapping[str, str]],
    scratch: Path,
    arms: Mapping[str, Path],
    pairs: int,
    cases: Sequence[str],
) -> None:
    """Fill the services and a folder, then run the cases."""
    envs = {
        name: {"AZURE_STORAGE_CONNECTION_STRING": service["connection_string"]}
        | ({"SSL_CERT_FILE": service["ca"]} if "ca" in service else {})
        for name, service in services.items()
    }
    folders = {name: random_files(scratch / name, *what) for name, what in FOLDERS.items()}
    places = {name: f"{folder}/" for name, folder in folders.items()} | {"down": str(scratch / "down")}
    for env in envs.values():
        for container in ("before", "names"):
            subprocess.run([HAUL, "mb", "--quiet", f"az://{container}"], env=os.environ | env, check=True)
        first = [word.format(**places) for word in UP]
        subprocess.run([HAUL, *first, "--quiet"], env=os.environ | env, check=True)
    if any("names" in case for case in cases):
        plain = services[""]
        fill(plain["endpoint"], "names", plain["sas"].lstrip("?"), "a/", NAMES, {})
    if any("small" in word for case in cases for word in CASES[case] if case.endswith("down")):
        first = [word.format(**places) for word in CASES["10,000 files of 4 KiB up"]]
        subprocess.run([HAUL, *first, "--quiet"], env=os.environ | envs[""], check=True)
    for case in cases:
        line = [word.format(**places) for word in CASES[case]]
        env = envs["https" if case.endswith("https") else ""]
        seen: dict[str, list[Weight]] = {name: [] for name in arms}
        # The first round warms up.
        for number, _, arm in orders(case, list(arms), pairs + 1):
            shutil.rmtree(places["down"], ignore_errors=True)
            weight = weigh([arms[arm], *line, "--quiet", "--progress", "none"], env)
            if weight.exit_code != 0:
                raise SystemExit(f"{case}: {arm} ended with {weight.exit_code}")
            if number:
                seen[arm].append(weight)
        print(
            json.dumps({"case": case, "pairs": pairs, **compared(seen["former"], seen["this"])}), flush=True
        )


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for this machine, and its key."""
    cert, config = folder / "cert.pem", folder / "cert.conf"
    config.write_text(CERTIFICATE)
    make = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -config {config}"
    line = ["openssl", *make.split(), "-keyout", str(folder / "key.pem"), "-out", str(cert)]
    subprocess.run(line, check=True, capture_output=True)
    return cert, folder / "key.pem"


def compared(former: Sequence[Weight], this: Sequence[Weight]) -> dict[str, object]:
    """Return medians of both, and how this differs from the former with its interval of 95 %."""
    row: dict[str, object] = {}
    for what in ("wall_s", "cpu_s"):
        before, after = ([getattr(weight, what) for weight in arm] for arm in (former, this))
        middle, low, high = median_with_interval([b / a - 1 for a, b in zip(before, after, strict=True)])
        row |= {
            f"former_{what}": round(statistics.median(before), 3),
            f"this_{what}": round(statistics.median(after), 3),
            f"{what.removesuffix('_s')}_change": round(middle, 3),
            f"{what.removesuffix('_s')}_change_95": [round(low, 3), round(high, 3)],
        }
    return row | {"this_max_rss_mib": round(max(weight.max_rss_mib for weight in this))}


if __name__ == "__main__":
    main()
