"""What the pages of haulage share: their looks, their drawing, and what a browser is told of them.

Pages ask for nothing from elsewhere: what they need is in ``static`` or beside them.
"""

from __future__ import annotations

from importlib.resources import files

_HTML, _CSS, _JS = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8"
_KINDS = {"html": _HTML, "css": _CSS, "js": _JS}
#: What every page may take from ``static``.
SHARED = ("base.css", "coast.js", "drawing.js", "uplot.min.css", "uplot.min.js")

#: Nothing from elsewhere, nothing within the page's text, and no page around it.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: What goes with every file of a page.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page_files(package: str) -> dict[str, tuple[bytes, str]]:
    """Return the files of the page of ``package``, by name: what they hold, and their content type.

    They are those of its folder ``page``, under ``""`` its ``page.html``, and those of :data:`SHARED`.

    >>> sorted(page_files("haulage.watch"))[:2]
    ['', 'base.css']
    """
    found = {name: files("haulage.web").joinpath("static", name) for name in SHARED}
    for file in files(package).joinpath("page").iterdir():
        if file.name.rpartition(".")[2] in _KINDS:
            found["" if file.name == "page.html" else file.name] = file
    return {
        name: (file.read_bytes(), _KINDS[file.name.rpartition(".")[2]])
        for name, file in sorted(found.items())
    }
