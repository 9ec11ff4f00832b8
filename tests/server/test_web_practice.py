"""The page of practice: its key, its addresses, and what it gives to the program that plays."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from getstep_engines import GAMES, Touched
from getstep_server.web.practice import PracticePage
from tests.support.patience import PATIENCE_SECONDS

LINKAGE = GAMES["linkage"]


class Client:
    """A browser without scripts."""

    def __init__(self, page: PracticePage) -> None:
        parts = urlsplit(page.address)
        self.host, self.path, self.cookie = parts.netloc, parts.path, ""

    def ask(self, path: str, form: dict[str, Any] | None = None, **headers: str) -> tuple[int, str]:
        """Return the status and the text of the response."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_SECONDS)
        body = None if form is None else urlencode(form)
        connection.request("GET" if form is None else "POST", path, body, {"Cookie": self.cookie, **headers})
        response = connection.getresponse()
        self.cookie = (response.getheader("Set-Cookie") or self.cookie).partition(";")[0]
        text = response.read().decode()
        connection.close()
        return response.status, text

    def follow(self) -> Iterator[dict[str, Any]]:
        """Yield the changes of the board."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/play/events", headers={"Cookie": self.cookie})
        with connection.getresponse() as response:
            for line in response:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        connection.close()


@pytest.fixture
def page() -> Iterator[PracticePage]:
    one = PracticePage()
    yield one
    one.close()


@pytest.fixture
def client(page: PracticePage) -> Client:
    """A browser that has opened the address."""
    one = Client(page)
    assert one.ask(one.path)[0] == 303
    return one


def in_thread(replies: list[Any], call: Any, *values: Any) -> threading.Thread:
    thread = threading.Thread(target=lambda: replies.append(call(*values)), daemon=True)
    thread.start()
    return thread


def test_the_installed_package_offers_the_page() -> None:
    (point,) = entry_points(group="getstep.browser")
    assert point.load() is PracticePage


def test_it_listens_on_this_computer_only(page: PracticePage) -> None:
    assert page.address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("path", ["/play/board", "/play/events", "/play/" + "a" * 32, "/play/%C3%A9"])
def test_without_the_key_there_is_no_board(page: PracticePage, path: str) -> None:
    client = Client(page)
    assert client.ask(path)[0] in (403, 404)
    assert client.cookie == ""
    assert client.ask("/play/leave", {})[0] == 403
    assert "no game" in client.ask("/play/move", {"question": 1, "picked": "[]"})[1]


def test_another_site_can_send_nothing(client: Client) -> None:
    assert client.ask("/play/leave", {}, Origin="http://example.org")[0] == 403
    assert client.ask("/play/board", None, Host="example.org")[0] == 421


def test_it_has_the_files_of_the_board_and_no_contest(client: Client) -> None:
    status, text = client.ask("/play/board")
    assert status == 200
    assert "<nav" not in text
    for path in ("/static/play.js", "/static/board.css", "/look/linkage.json"):
        assert client.ask(path)[0] == 200
    for path in ("/rules", "/api/v1/pages/overview", "/static/nothing.js", "/look/nothing.json"):
        assert client.ask(path)[0] == 404
    assert client.ask("/")[0] == 303


def test_a_move_a_resignation_and_the_next_game(page: PracticePage, client: Client) -> None:
    position = LINKAGE.start()
    assert page.begin(LINKAGE, ("You", "bot"), 0, position)
    replies: list[Any] = []
    changes = client.follow()
    asking = in_thread(replies, page.ask, LINKAGE, position)
    question = next(parts["question"] for parts in changes if parts.get("question"))
    word = question["words"][0]
    picked: list[Any] = [word]
    for _ in range(2):
        found = json.loads(client.ask("/play/pick", {"question": question["id"], "picked": json.dumps(picked)})[1])
        picked.append(found["squares"][0])
    assert client.ask("/play/move", {"question": question["id"], "picked": json.dumps(picked)}) == (200, "{}")
    asking.join(PATIENCE_SECONDS)
    kind, move = replies.pop()
    assert kind == "move"
    position.play(move)
    page.show(LINKAGE, position, Touched(), "You: a domino", 1)
    assert next(parts["notes"] for parts in changes if parts.get("notes")) == ["You: a domino"]

    asking = in_thread(replies, page.ask, LINKAGE, position)
    question = next(parts["question"] for parts in changes if parts.get("question"))
    assert client.ask("/play/resign", {"question": question["id"]}) == (200, "{}")
    asking.join(PATIENCE_SECONDS)
    assert replies.pop() == ("resign", None)
    page.end(False, "More resigned")
    assert next(parts["result"] for parts in changes if parts.get("result"))["won"] is False

    beginning = in_thread(replies, page.begin, LINKAGE, ("bot", "You"), 1, LINKAGE.start())
    assert any(parts.get("more") for parts in changes)
    assert replies == []
    client.ask("/play/here", {})
    beginning.join(PATIENCE_SECONDS)
    assert replies == [True]
    fresh = next(parts for parts in changes if parts.get("game"))
    assert (fresh["game"]["teams"], fresh["game"]["me"]) == (["bot", "You"], 1)
    changes.close()  # type: ignore[attr-defined]  # a generator


def test_a_person_who_leaves_ends_the_wait_for_a_move_and_for_a_game(page: PracticePage, client: Client) -> None:
    assert page.begin(LINKAGE, ("You", "bot"), 0, LINKAGE.start())
    assert client.ask("/play/leave", {}) == (204, "")
    assert page.ask(LINKAGE, LINKAGE.start()) == ("leave", None)
    client.ask("/play/leave", {})
    assert page.begin(LINKAGE, ("You", "bot"), 0, LINKAGE.start()) is False


def test_after_the_end_the_port_is_closed(page: PracticePage) -> None:
    parts = urlsplit(page.address)
    page.close()
    page.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((str(parts.hostname), parts.port or 0))
