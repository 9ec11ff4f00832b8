"""A small client with a switch for each of many faults, so that the suite can find them: wrong_client.py FAULT

Without a fault ("none") it does all that protocol.md says. The table of the faults is in
`tests/conformance/test_single_faults.py`; each is a comparison with `FAULT` here.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import queue
import socket
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import conformance_bot  # type: ignore[import-not-found] # beside this program, which is started by its path

from getstep.notes import Collector, collected
from getstep.text import escape_control_chars
from getstep.wire import (
    CLOSED,
    NEED_DATA,
    Connection,
    End,
    GetStep,
    Goodbye,
    Hello,
    LocalProtocolError,
    Message,
    Penalty,
    Raised,
    RemoteProtocolError,
    Role,
    SocketAddress,
    Start,
    Step,
    Welcome,
    canonical_token,
    encode,
    new_nonce,
    prove_fence,
    prove_server,
    sign,
)

FAULT = sys.argv[1]
ADDRESS = os.environ["GETSTEP_HOST"], int(os.environ["GETSTEP_PORT"])
TEAM, TYPED = int(os.environ["GETSTEP_TEAM"]), os.environ["GETSTEP_TOKEN"]
TOKEN = TYPED if FAULT == "token as typed" else canonical_token(TYPED)
SCALE = 1.0 if FAULT == "slow pauses" else float(os.environ["GETSTEP_TIME_SCALE"])
LOGIN_SECONDS = 60 if FAULT == "waits for hello" else 6
NONCE = new_nonce()

IGNORED = {
    "empty frame": "empty_frame",
    "key twice": "duplicate_key",
    "deep": "too_deep",
    "large": "too_large",
    "bin and bytes behind": "bad_msgpack",
    "unknown type": "unknown_type",
    "out of order": "out_of_order",
    "wrong values": "bad_field",
}
"""The code of each breach that the client reads over with a fault, as if the frame were not there."""


WRONG_NOTES: dict[str, Any] = {
    "sends output": {"output": "looking"},
    "wrong notes": {"say": "right", "estimate": 7},
    "many notes": {"draw": [["region", [0] * 50, "12345678", None]] * 52},
}
"""The notes in each answer with a fault."""

NOTED: list[Collector] = []
"""The notes of the moves; those of the first one are sent."""


@dataclass
class Question:
    """A question, the match that it belongs to, and the connection on which it was asked last."""

    ask: GetStep
    start: Start
    link: Link
    began: bool = False


class Link:
    """A connection: a thread reads, and puts what it has read into the client's queue."""

    def __init__(self, events: queue.Queue[tuple[Any, ...]]) -> None:
        self.events = events
        self.codec = Connection(Role.CLIENT)
        self.sock = socket.create_connection(ADDRESS)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, FAULT != "small frames wait")
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, FAULT != "no keep-alive")
        self.lock = threading.Lock()
        self.hello: Hello | None = None
        self.nonce = NONCE if FAULT == "old nonce" else new_nonce()
        self.dialled: str | None = None
        self.welcomed = self.proved = False
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        try:
            while True:
                data = self.sock.recv(65536)
                if FAULT == "one read, one frame" and data:
                    data = data[: 4 + int.from_bytes(data[:4], "big")]
                if FAULT == "little-endian" and data:
                    data = data[3::-1] + data[4:]
                with self.lock:
                    self.codec.receive_data(data)
                    self.pass_on()
        except (OSError, RemoteProtocolError) as error:
            self.events.put((self, error))

    def pass_on(self) -> None:
        while True:
            before = self.codec.state
            try:
                event = self.codec.next_event()
            except RemoteProtocolError as error:
                if error.code != IGNORED.get(FAULT):
                    raise
                if error.code == "empty_frame":
                    self.codec._reader.rest = self.codec._reader.rest[4:]
                self.codec.state = before
                continue
            if event is NEED_DATA:
                return
            if event is CLOSED:
                raise OSError("closed")
            self.events.put((self, event))

    def send(self, message: Message) -> None:
        with self.lock:
            data = self.codec.send(message)
        self.sock.sendall(data)

    def send_fields(self, **fields: Any) -> None:
        self.sock.sendall(encode(fields, 4096))


class Client:
    """Plays until it is told to end. All but reading and the bot happens in one thread."""

    def __init__(self) -> None:
        self.events: queue.Queue[tuple[Any, ...]] = queue.Queue()
        self.link: Link | None = None
        self.ever_proved = self.ever_located = False
        self.fence = 0, ""
        self.pause = 0.2
        self.start: Start | None = None
        self.first_start: Start | None = None
        self.question: Question | None = None
        self.first_question: Question | None = None
        self.thinking: Question | None = None
        self.waiting: list[Question] = []

    def run(self) -> None:
        while True:
            try:
                seconds = self.one_connection()
            except (OSError, RemoteProtocolError) as error:
                print(f"Connection lost: {escape_control_chars(str(error))}.", flush=True)
                if FAULT == "ends":
                    sys.exit(1)
                seconds = self.grown()
            if FAULT != "spins":
                self.rest(seconds * SCALE)

    def rest(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            try:
                self.handle(self.events.get(timeout=left))
            except queue.Empty:
                return

    def grown(self) -> float:
        seconds, self.pause = self.pause, min(2 * self.pause, 5)
        return 0.2 if FAULT == "even pauses" else seconds

    # --- one connection ---

    def one_connection(self) -> float:
        """Play until goodbye, and return the pause that it asks for."""
        self.link = link = Link(self.events)
        with link.sock:
            try:
                limit: float | None = time.monotonic() + LOGIN_SECONDS
                while True:
                    limit = None if link.welcomed else limit
                    message = self.next_message(limit)
                    if message is not None and (seconds := self.handle(message)) is not None:
                        return seconds
            finally:
                self.link = None
                with contextlib.suppress(OSError):  # the server was quicker
                    link.sock.shutdown(socket.SHUT_RDWR)  # a close alone does nothing while the thread reads

    def next_message(self, limit: float | None) -> tuple[Any, ...] | None:
        if FAULT == "polls":
            try:
                return self.events.get_nowait()
            except queue.Empty:
                return None
        try:
            return self.events.get(timeout=None if limit is None else max(0, limit - time.monotonic()))
        except queue.Empty:
            raise OSError("nothing came in time") from None

    def handle(self, event: tuple[Any, ...]) -> float | None:
        """Handle what a connection or the bot has put into the queue; return a pause after goodbye."""
        source, what = event
        if isinstance(source, Question):
            self.thought(source, what)
            return None
        if not isinstance(source, Link) or source is not self.link:
            return None  # of an earlier connection
        if isinstance(what, Exception):
            raise what
        match what:
            case Hello():
                self.on_hello(source, what)
            case Welcome():
                self.on_welcome(source, what)
            case Start():
                self.on_start(what)
            case GetStep():
                self.on_question(source, what)
            case Penalty():
                self.show(f"{'' if FAULT == 'hides codes' else what.reason}: {what.detail}")
                if FAULT == "unknown code" and what.reason == "struck_by_lightning":
                    raise OSError("an unknown code")
            case End():
                self.show(f"{what.result}: {'' if FAULT == 'hides codes' else what.reason}: {what.detail}")
                self.start = self.start if FAULT == "late after end" else None
            case Goodbye():
                return self.on_goodbye(source, what)
        if FAULT != "thinks of each":
            self.think()
        return None

    def show(self, text: str) -> None:
        print(text if FAULT == "raw names" else escape_control_chars(text), flush=True)

    def on_hello(self, link: Link, hello: Hello) -> None:
        if 1 not in hello.versions and FAULT != "any version":
            self.leave("The server speaks other versions.")
        if hello.friendly and FAULT != "friendly port":
            self.leave("This port is for friendly matches.")
        if hello.dialled and FAULT != "not dialled":
            link.dialled = str(SocketAddress.of(link.sock.getpeername()))
        elif self.ever_located and FAULT != "dialled or not":
            raise OSError("this server does not check the address that was dialled, as it did before")
        mac = sign(TOKEN, hello.nonce, link.dialled)
        fields = {
            "type": "join",
            "version": 2 if FAULT == "version 2" else 1,
            "team": TEAM + 1 if FAULT == "other team" else TEAM,
            "mac": mac.upper() if FAULT == "capital mac" else mac,
            "client": "x" * 65 if FAULT == "long name" else "small client",
            "purpose": "check" if FAULT == "purpose check" else "play",
            "nonce": None if FAULT == "no nonce" else link.nonce,
            "dialled": link.dialled,
            **({"fence": self.fence[0], "fence_certificate": self.fence[1]} if self.fence[0] else {}),
        }
        if FAULT == "token in clear":
            fields["password"] = TYPED
        link.hello = hello
        link.codec.state = type(link.codec.state).DECIDING
        link.send_fields(**fields)

    def leave(self, text: str) -> None:
        """End with a message, or treat the server as a false one if another has proved itself."""
        if self.ever_proved:
            raise OSError(text)
        print(text, flush=True)
        sys.exit(1)

    def on_welcome(self, link: Link, welcome: Welcome) -> None:
        if link.hello is None:
            raise RuntimeError("welcome before hello")
        link.welcomed = True
        proof = welcome.proof
        right = prove_server(TOKEN, link.hello.nonce, link.nonce, link.dialled)
        good = {
            "believes": lambda: proof is not None,
            "8 digits": lambda: proof is not None and proof[:8] == right[:8],
            "last 8 digits": lambda: proof is not None and proof[-8:] == right[-8:],
            "own mac": lambda: proof in (right, sign(TOKEN, link.hello.nonce, link.dialled)),
            "undialled proof": lambda: proof in (right, prove_server(TOKEN, link.hello.nonce, link.nonce)),
        }.get(FAULT, lambda: proof is not None and hmac.compare_digest(proof, right))()
        if (
            not good
            and FAULT != "no nonce"
            and (proof is not None or (self.ever_proved and FAULT != "forgets proof"))
        ):
            print("This server has not proved that it knows the token.", flush=True)
            raise OSError("no proof")
        if good:
            link.proved = self.ever_proved = True
            self.ever_located |= link.dialled is not None
            self.on_fence(link, link.hello, welcome)
        if (good and FAULT != "pauses stay long") or FAULT == "short without proof":
            self.pause = 0.2

    def on_fence(self, link: Link, hello: Hello, welcome: Welcome) -> None:
        number, certificate = welcome.fence or 0, welcome.fence_certificate or ""
        proof = prove_fence(TOKEN, hello.nonce, link.nonce, number, certificate)
        if FAULT == "8 digits of the number":
            proof = proof[:8] + (welcome.fence_proof or "")[8:]
        if number and welcome.fence_proof != proof and FAULT != "any number":
            raise OSError("the fencing number is not proved")
        if number < self.fence[0] and FAULT != "lower number":
            raise OSError("another computer has taken over")
        if FAULT != "forgets the number":
            self.fence = number, certificate

    def on_start(self, start: Start) -> None:
        self.show(f"Match {start.match} against {start.opponent}")
        if FAULT == "unknown game" and start.game == "three_musketeers":
            raise OSError("an unknown game")
        if FAULT == "unknown option" and set(start.options) - {"size"}:
            sys.exit("an unknown option")
        self.first_start = self.first_start or start
        if FAULT == "first game" and self.first_start is not start:
            start = replace(start, game=self.first_start.game)
        self.start = start

    # --- questions ---

    def on_question(self, link: Link, ask: GetStep) -> None:
        if FAULT == "crashes":
            os.abort()
        if self.start is None:
            raise OSError("a question without a match")
        old = self.thinking
        if old and old.link is not link and old.ask.id == ask.id and old.ask.board == ask.board:
            old.link = link  # asked again after a lost connection: the bot thinks about it already
            return
        self.question = Question(ask, self.start, link)
        self.first_question = self.first_question or self.question
        self.waiting.append(self.question)
        if FAULT == "thinks of each":
            self.think()

    def think(self) -> None:
        """Let the bot begin with the oldest question, if it is open and the bot is not busy."""
        if self.thinking is not None or self.link is None:
            return
        oldest = self.waiting[0] if self.waiting else None
        question = oldest if FAULT == "thinks of each" else self.question
        if question is None or question.began or question.link is not self.link:
            return
        if FAULT != "thinks of each" and self.link.codec.question != question.ask.id:
            return
        self.waiting.remove(question)
        question.began, self.thinking = True, question
        if FAULT == "does not read":
            self.thought(question, answer_to(question, question))
            return
        first = self.first_question or question
        threading.Thread(
            target=lambda: self.events.put((question, answer_to(question, first))), daemon=True
        ).start()

    def thought(self, question: Question, answer: Step | Raised) -> None:
        self.thinking = None
        link = self.link
        same_match = self.start is not None and self.start.match == question.start.match
        if FAULT == "old connection" and link is not None and link.welcomed:
            link.send_fields(**answer.to_fields())
        elif link is not None and question.link is link and same_match:
            closed = link.codec.question != question.ask.id
            if not (closed and FAULT == "no late answer"):
                self.answer(link, answer)
        self.think()

    def answer(self, link: Link, answer: Step | Raised) -> None:
        if FAULT == "late after end":
            link.send_fields(**answer.to_fields())
            return
        if (notes := WRONG_NOTES.get(FAULT)) is not None:
            link.send_fields(**answer.to_fields() | {"notes": notes})
            return
        try:
            link.send(answer)
            if FAULT == "answers twice":
                link.send_fields(**answer.to_fields())
        except LocalProtocolError as error:
            if FAULT == "dies of a long move":
                sys.exit(f"too long: {error}")
            if link.codec.question == answer.id:
                link.send(Raised(id=answer.id, error="the move cannot be sent"))

    # --- goodbye ---

    def on_goodbye(self, link: Link, goodbye: Goodbye) -> float:
        """Return the pause before the next connection, or end."""
        if FAULT != "hides reasons":
            self.show(f"{goodbye.reason}: {goodbye.detail}")
        over = goodbye.reason == "contest_over"
        seconds = None if goodbye.retry_ms is None else goodbye.retry_ms / 1000
        if link.proved:
            if seconds is None and not (FAULT == "never replaced" and goodbye.reason == "replaced"):
                sys.exit(3 if FAULT == "exit code" else 0)
            seconds = 0.5 if seconds is None else seconds
            return {"at once": 0, "one pause": 0.5}.get(FAULT, seconds)
        if seconds is not None:
            return seconds if FAULT == "obeys anybody" else min(max(seconds, 1), 60)
        if FAULT == "anybody ends it" and over:
            sys.exit(0)
        if not self.ever_proved and not over and (not link.welcomed or goodbye.reason == "replaced"):
            sys.exit(0 if FAULT == "refused with 0" else 1)
        if FAULT == "refused later" and not link.welcomed:
            sys.exit(1)
        return max(1.0, self.grown())


def answer_to(question: Question, first: Question) -> Step | Raised:
    """Call the bot, with what it is given by the fault."""
    ask, start = question.ask, question.start
    board = [list(row) for row in ask.board]
    if FAULT == "turned board":
        board = [list(column) for column in zip(*board, strict=True)]
    is_black = True if FAULT == "always black" else ask.is_black
    turn = conformance_bot.getstep.Turn(
        game=start.game,
        match=start.match,
        move_number=ask.move_number,
        opponent=start.opponent,
        last_move=first.ask.last_move if FAULT == "old last move" else ask.last_move,
        time_left_ms=start.time_ms if FAULT == "whole time" else ask.time_left_ms,
        options=start.options,
    )
    noted = Collector(board)
    if question is first or FAULT != "notes before":
        NOTED.clear()
    NOTED.append(noted)
    try:
        with collected(noted):
            move = conformance_bot.get_step(board, is_black, turn)
    except Exception as error:
        if FAULT == "dies with its bot":
            os._exit(1)
        text = "error" if FAULT == "no error text" else str(error)
        return Raised(id=ask.id, error=text[:500], notes=NOTED[0].take())
    if FAULT == "other move" and start.opponent == "Grashüpfer":
        move = [len(board) - 1, len(board) - 1]
    return Step(id=ask.id, move=move, notes=NOTED[0].take())


Client().run()
