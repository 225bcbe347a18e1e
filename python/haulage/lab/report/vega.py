"""Vega, Vega-Lite and Vega-Embed as one script. To bundle it takes seconds, so it is kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert

from haulage.cached import cache_folder, keep

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
#: Versions that are kept; environments of Python beside each other may have several.
_KEPT = 4


@cache
def script() -> str:
    """Return the script, in a block, so that its hundreds of names do not become those of the page.

    vl-convert holds all three, and bundles the same bytes each time. They are kept by its version in
    ``$XDG_CACHE_HOME/haulage/report``, below their SHA-256: what does not have it is bundled again.
    """
    path = cache_folder("report") / f"vega-{version('vl-convert-python')}.js"
    bundle = _kept(path)
    if bundle is None:
        bundle = vl_convert.javascript_bundle(_SNIPPET)
        # A disk that is full or may not be written costs nothing but time.
        with contextlib.suppress(OSError):
            _keep(path, bundle)
    return "{" + bundle.replace("</script", "<\\/script") + "}"


def _kept(path: Path) -> str | None:
    try:
        head, _, bundle = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return bundle if head == _head(bundle) else None


def _keep(path: Path, bundle: str) -> None:
    keep(path, f"{_head(bundle)}\n{bundle}".encode())
    others = sorted(path.parent.glob("vega-*.js"), key=lambda one: one.stat().st_mtime)
    for old in others[:-_KEPT]:
        old.unlink(missing_ok=True)


def _head(bundle: str) -> str:
    return f"// {hashlib.sha256(bundle.encode()).hexdigest()}"
