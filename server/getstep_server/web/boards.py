"""The requests of a browser at a person's board, whatever game it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from getstep_engines import IllegalMove
from getstep_server.json_text import JsonError, decode

from .choices import parse_picked
from .http import JSON, AnyResponse, EventStream, Request, Response, problem
from .person import MOST_FOLLOWERS, Person, Refusal
from .topics import encode


class Boards:
    """Answers the requests of browsers at boards. A subclass says whose board a browser has."""

    GET: ClassVar[Mapping[str, Callable[[Any, Request], AnyResponse]]]
    POST: ClassVar[Mapping[str, Callable[[Any, Request], AnyResponse]]]

    async def __call__(self, request: Request) -> AnyResponse:
        """Answer a request for an address under ``/play``."""
        view = self.POST.get(request.path) if request.method == "POST" else self.GET.get(request.path)
        if view is None:
            return problem(405 if request.method == "POST" else 404, "there is nothing at this address")
        if request.method == "POST" and not request.is_own:
            return problem(403, "this form is not from this page; load the page again")
        try:
            return view(self, request)
        except (Refusal, ValueError) as error:
            return Response(encode({"problem": str(error)}), JSON)  # an answer: an illegal click is not a failure

    def person(self, request: Request) -> Person | None:
        """Return the person whose board this browser has; None if it has no board."""
        raise NotImplementedError

    def events(self, request: Request) -> AnyResponse:
        person = self.person(request)
        if person is None:
            return problem(404, "there is no game; choose one on the page Play")
        if person.topic.subscribers >= MOST_FOLLOWERS:
            return problem(503, "this game is open in too many windows; close some")
        return EventStream(person.topic.follow)

    def pick(self, request: Request) -> AnyResponse:
        """Return what can be picked next."""
        person, number, form = self._turn(request)
        return Response(encode(person.pick(number, _picked(form))), JSON)

    def move(self, request: Request) -> AnyResponse:
        person, number, form = self._turn(request)
        person.play(number, _picked(form))
        return Response(b"{}", JSON)

    def resign(self, request: Request) -> AnyResponse:
        """Give up the game."""
        person, number, _ = self._turn(request)
        person.resign(number)
        return Response(b"{}", JSON)

    def here(self, request: Request) -> AnyResponse:
        person = self.person(request)
        if person is not None:
            person.touch()
        return Response(b"{}", JSON)

    def _turn(self, request: Request) -> tuple[Person, int, dict[str, str]]:
        person, form = self.person(request), request.form()
        if person is None:
            raise Refusal("There is no game; choose one on the page Play.")
        number = form.get("question", "")
        if not re.fullmatch("[0-9]{1,9}", number):
            raise Refusal("It is not your turn now.")
        return person, int(number), form


BOARD_GET: Mapping[str, Callable[[Any, Request], AnyResponse]] = {"/play/events": Boards.events}
BOARD_POST: Mapping[str, Callable[[Any, Request], AnyResponse]] = {
    "/play/here": Boards.here,
    "/play/pick": Boards.pick,
    "/play/move": Boards.move,
    "/play/resign": Boards.resign,
}
"""The views of every board by address. Those of a subclass are added to them."""


def _picked(form: dict[str, str]) -> list[object]:
    try:
        return parse_picked(decode(form.get("picked", "[]").encode(errors="replace")))
    except (IllegalMove, JsonError) as error:
        raise Refusal(str(error)) from None
