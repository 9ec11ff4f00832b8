"""The OpenAPI description of the HTTP API, made of the table of addresses and of the structs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import Struct

from getstep_server.api.answers import Problem
from getstep_server.records.challenge import ChallengeRecord
from getstep_server.records.decision import DecisionRecord
from getstep_server.records.game import GameRecord
from getstep_server.records.lost import LostRecord
from getstep_server.records.message import MessageRecord
from getstep_server.records.pairings import PairingsRecord
from getstep_server.records.settings import SettingsRecord
from getstep_server.records.turns import Turn
from getstep_server.records.worker import WorkerRecord

from .api_routes import NDJSON, ROUTES, VERSION, Route
from .host_api import HOST_ROUTES
from .http import EVENTS, JSON, PROBLEM

RECORDS: tuple[type[Struct], ...] = (
    *(SettingsRecord, PairingsRecord, GameRecord, LostRecord, WorkerRecord, ChallengeRecord, MessageRecord),
    *get_args(DecisionRecord),
)
"""The records that `export` writes, without their seal; docs/records.md describes them."""

_TURNS: tuple[type[Struct], ...] = get_args(Turn)
_REFUSALS = {
    "400": "A parameter that is not what it should be.",
    "404": "There is no such thing, or spectators may not see it yet.",
    "503": "Too many readers.",
}
_HOST_REFUSALS = {
    "400": "A body or a parameter that is not what it should be.",
    "401": "The host's key is missing or wrong.",
    "403": "The host's console does not answer here.",
    "409": "It cannot be done in the present state, and nothing was.",
    "413": "A body of more than 4096 bytes.",
    "503": "The contest cannot be read or written now.",
}
_ABOUT = """\
What the pages show, as JSON: no key is needed, but below /api/v1/host. While results are frozen they are hidden
here too. docs/api.md has examples, and says what version 1 promises.
"""
_REQUEST = "request."
"""Before the names of the schemas of bodies."""

_KEY = "The host's key: getstep-server host-key FOLDER --key prints it."


@cache
def description() -> Mapping[str, Any]:
    """Return the description as a JSON object."""
    routes = (*ROUTES, *HOST_ROUTES)
    answers = [route.answer for route in routes]
    types = list(dict.fromkeys((*answers, Problem, *RECORDS, *_TURNS)))
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    bodies = list(dict.fromkeys(route.body for route in HOST_ROUTES if route.body is not None))
    # apart, with names of their own: a request to play again is not the record of it
    template = f"#/components/schemas/{_REQUEST}{{name}}"
    asked, requests = msgspec.json.schema_components(bodies, ref_template=template)
    schemas |= {f"{_REQUEST}{name}": schema for name, schema in requests.items()}
    schema_of = dict(zip(bodies, asked, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = {
            **_operation(route),
            **({} if route in ROUTES else _of_host(schema_of.get(route.body))),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "getstep: a contest", "version": VERSION, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"hostKey": {"type": "http", "scheme": "bearer", "description": _KEY}},
        },
    }


def _of_host(body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what an address for the host has beside that of `_operation`; ``body`` is the schema of its body."""
    content = {} if body is None else {"requestBody": {"required": True, "content": {JSON: {"schema": body}}}}
    return {"security": [{"hostKey": []}], **content}


def _operation(route: Route) -> dict[str, Any]:
    refusals = _REFUSALS if route in ROUTES else _HOST_REFUSALS
    schema = {"$ref": f"#/components/schemas/{route.answer.__name__}"}
    refusal = {"content": {PROBLEM: {"schema": {"$ref": f"#/components/schemas/{Problem.__name__}"}}}}
    # OpenAPI 3.1 has no word for the lines of a stream: docs/api.md says what they are
    stream = {NDJSON: {"type": "string"}, EVENTS: {"type": "object", "properties": {"data": {"type": "string"}}}}
    content = {media: {"schema": stream.get(media, schema)} for media in route.media}
    if NDJSON in route.media:
        content = {media: {**described, "x-line": schema} for media, described in content.items()}
    return {
        "operationId": "_".join(part.strip("{}") for part in route.path.split("/")[3:]),
        "summary": route.about,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}}
                for name in route.names
            ),
            *(
                {"name": one.name, "in": "query", "description": one.about, "schema": dict(one.schema)}
                for one in route.parameters
            ),
        ],
        "responses": {
            "200": {"description": (route.answer.__doc__ or "").partition("\n")[0], "content": content},
            **{status: {"description": text, **refusal} for status, text in refusals.items()},
            **({"410": {"description": "The records were replaced.", **refusal}} if "feed" in route.path else {}),
        },
    }
