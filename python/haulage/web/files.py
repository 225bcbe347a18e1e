"""The files that a page is made of, and their answers."""

from __future__ import annotations

from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from haulage.web import HEADERS

_HTML, _CSS, _JS = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8"
_KINDS = {"html": _HTML, "css": _CSS, "js": _JS}
#: What every page may take from ``static``.
SHARED = ("base.css", "coast.js", "drawing.js", "uplot.min.css", "uplot.min.js")


class PageFiles:
    """The files of the page of ``package``: its ``page.html``, named ``""``, and those of :data:`SHARED`.

    >>> sorted(PageFiles("haulage.watch").names)[:2]
    ['', 'base.css']
    """

    def __init__(self, package: str) -> None:
        found = {name: files("haulage.web").joinpath("static", name) for name in SHARED}
        for file in files(package).joinpath("page").iterdir():
            if file.name.rpartition(".")[2] in _KINDS:
                found["" if file.name == "page.html" else file.name] = file
        self._held = {
            name: (file.read_bytes(), _KINDS[file.name.rpartition(".")[2]]) for name, file in found.items()
        }
        self.names = self._held.keys()

    async def answer(self, request: Request) -> Response:
        """Answer with the file that the path names as ``file``."""
        held = self._held.get(request.path_params["file"])
        if held is None:
            raise HTTPException(404)
        return Response(held[0], headers={**HEADERS, "Content-Type": held[1]})
