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

from .api_routes import NDJSON, PROBLEM, ROUTES, VERSION, Route
from .http import EVENTS

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
_ABOUT = """\
What the pages show, as JSON: no key is needed. While results are frozen they are hidden here too. docs/api.md has
examples, and says what version 1 promises.
"""


@cache
def description() -> Mapping[str, Any]:
    """Return the description as a JSON object."""
    answers = [route.answer for route in ROUTES]
    types = list(dict.fromkeys((*answers, Problem, *RECORDS, *_TURNS)))
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "getstep: a contest", "version": VERSION, "description": _ABOUT},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(route: Route) -> dict[str, Any]:
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
            **{status: {"description": text, **refusal} for status, text in _REFUSALS.items()},
            **({"410": {"description": "The records were replaced.", **refusal}} if "feed" in route.path else {}),
        },
    }
