"""The interface, described for programs (OpenAPI 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haulage.tables.serve.asking import FORMATS, MEDIA, PAGE_ROWS

_TEXT = {"type": "string"}
_ERROR = {
    "description": "what went wrong, and what to do about it",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_OF_ROWS = {
    "$filter": "an OData expression, such as: elevation gt 300 and station eq 'Zugspitze'",
    "$select": "names of columns separated by commas",
    "$orderby": "columns to sort by, such as: elevation desc, station; all that match are gathered first",
    "NextPartitionKey": "the header x-ms-continuation-NextPartitionKey of the page before",
    "NextRowKey": "the header x-ms-continuation-NextRowKey of the page before",
}


def document(tables: Sequence[str], *, with_token: bool) -> dict[str, Any]:
    """Return the description of a proxy that serves these tables."""
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "haul table serve", "version": "1", "description": "Rows of tables, to read."},
        "paths": {
            "/tables": {"get": _told("the tables that are served", {})},
            "/tables/{name}": {"get": _told("the columns of a table, where it has them", {}, tables)},
            "/tables/{name}/rows": {"get": _rows("one page", tables, page=True)},
            "/tables/{name}/all": {"get": _rows("all rows as one answer", tables, page=False)},
            "/requests/{key}": {"get": _told("what an answer took, by its header Haul-Request", {})},
        },
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["code", "error", "hint"],
                    "properties": {"code": _TEXT, "error": _TEXT, "hint": {"type": ["string", "null"]}},
                }
            }
        },
    }
    described["paths"]["/requests/{key}"]["get"]["parameters"] = [_in_path("key", {"type": "string"})]
    if with_token:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


def _told(what: str, responses: dict[str, Any], tables: Sequence[str] = ()) -> dict[str, Any]:
    answer = {"description": what, "content": {"application/json": {}}}
    told: dict[str, Any] = {"summary": what, "responses": {"200": answer, "default": _ERROR, **responses}}
    if tables:
        told["parameters"] = [_in_path("name", {"enum": list(tables)})]
    return told


def _rows(what: str, tables: Sequence[str], *, page: bool) -> dict[str, Any]:
    of_rows = [
        {"name": name, "in": "query", "description": told, "schema": _TEXT}
        for name, told in _OF_ROWS.items()
        if page or not name.startswith("Next")
    ]
    top: dict[str, Any] = {"type": "integer", "minimum": 1, **({"maximum": PAGE_ROWS} if page else {})}
    more = [
        {"name": "$top", "in": "query", "description": "the most rows to send", "schema": top},
        {"name": "format", "in": "query", "schema": {"enum": ["json", *FORMATS]}},
        {"name": "buffers", "in": "query", "schema": {"enum": ["none", "lz4", "zstd"], "default": "none"}},
        {"name": "formulas", "in": "query", "schema": {"enum": ["disarm", "keep"], "default": "disarm"}},
        {"name": "If-None-Match", "in": "header", "schema": _TEXT},
    ]
    names = ["ETag", "Server-Timing", "Haul-Request", "Haul-Store", "Haul-Sorted"]
    names += ["x-ms-continuation-NextPartitionKey", "x-ms-continuation-NextRowKey", "Link"] if page else []
    answer = {
        "description": what,
        "headers": {name: {"schema": _TEXT} for name in names},
        "content": {media.split(";charset")[0]: {} for media in MEDIA.values()},
    }
    return {
        "summary": what,
        "parameters": [_in_path("name", {"enum": list(tables)}), *of_rows, *more],
        "responses": {"200": answer, "304": {"description": "not changed"}, "default": _ERROR},
    }


def _in_path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}
