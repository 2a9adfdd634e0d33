"""The API documentation at /schema: one HTML page from the OpenAPI document, without scripts or external resources."""

import base64
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from typing import Any, Final

from litestar import MediaType, Request
from litestar.openapi.plugins import OpenAPIRenderPlugin

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "code,pre{font-family:ui-monospace,monospace;font-size:.9em}h2{border-top:1px solid #ccc;padding-top:1rem}"
    "table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}a{color:#8bf}h2{border-color:#444}}"
)
STYLE_HASH: Final = f"sha256-{base64.b64encode(sha256(_STYLE.encode()).digest()).decode()}"


class SchemaPage(OpenAPIRenderPlugin):
    """Renders the page."""

    def __init__(self) -> None:
        super().__init__(path="/", media_type=MediaType.HTML, favicon="", style="")

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:  # noqa: ARG002  Litestar's interface
        return "".join(_page(openapi_schema)).encode()


def _page(schema: dict[str, Any]) -> Iterator[str]:
    info = schema["info"]
    yield f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{escape(info['title'])} API</title>"
    yield f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
    yield f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])}"
    yield " For programs: <a href=/schema/openapi.json>openapi.json</a>."
    for path, item in sorted(schema["paths"].items()):
        for method, operation in item.items():
            yield from _operation(path, method, operation)
    yield "<h2>Response types</h2>"
    for name, component in sorted(schema.get("components", {}).get("schemas", {}).items()):
        yield from _component(name, component)


def _operation(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2><p>{escape(operation.get('summary', ''))}."
    if operation.get("description"):
        yield f"<p>{escape(operation['description'])}"
    if operation.get("parameters"):
        yield "<table><tr><th>parameter<th>type<th>"
        for parameter in operation["parameters"]:
            kind, text = _type(parameter.get("schema", {})), parameter.get("description", "")
            yield f"<tr><td><code>{escape(parameter['name'])}</code><td>{kind}<td>{escape(text)}"
        yield "</table>"
    yield "<p>"
    for status, response in operation["responses"].items():
        kinds = [_type(content.get("schema", {})) for content in response.get("content", {}).values()]
        yield f"<code>{escape(status)}</code> {' '.join(kinds)}<br>"


def _component(name: str, component: dict[str, Any]) -> Iterator[str]:
    yield f"<h3 id='{escape(name)}'>{escape(name)}</h3><p>{escape(component.get('description', ''))}"
    if "enum" in component:
        yield f"<p>{escape(', '.join(map(str, component['enum'])))}"
    yield "<table>"
    for field, schema in component.get("properties", {}).items():
        yield f"<tr><td><code>{escape(field)}</code><td>{_type(schema)}"
    yield "</table>"


def _type(schema: dict[str, Any]) -> str:
    """A short description of a schema; components are links."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f"<a href='#{name}'>{name}</a>"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(_type(one) for one in schema[several])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if "additionalProperties" in schema:
        return f"object of {_type(schema['additionalProperties'])}"
    kind = schema.get("type", "anything")
    return escape(" or ".join(kind) if isinstance(kind, list) else str(kind))
