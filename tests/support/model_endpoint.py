"""An endpoint of the OpenAI kind on the loopback interface, which answers as a test wants it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[[BaseHTTPRequestHandler], None]


def completion(text: object, prompt: object = 100, answer: object = 10) -> bytes:
    usage = {"prompt_tokens": prompt, "completion_tokens": answer}
    return json.dumps({"choices": [{"message": {"content": text}}], "usage": usage}).encode()


def body(data: bytes, status: int = 200, **headers: str) -> Reply:
    """Answer with a status and a body."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def says(text: object, prompt: object = 100, answer: object = 10) -> Reply:
    return body(completion(text, prompt, answer))


def plays_last(handler: Any) -> None:
    """Play the last free square of the board in the question, as a model would read it."""
    content = handler.question["messages"][1]["content"]
    rows = [line.partition(": ")[2].split() for line in content.splitlines() if line.startswith("row ")]
    row, column = [(r, c) for r, cells in enumerate(rows) for c, cell in enumerate(cells) if cell == "0"][-1]
    says(f"I take the last one.\nmove: {row},{column}")(handler)


@dataclass
class Model:
    """An endpoint: it answers the questions by the replies in order, the last one again and again."""

    url: str
    replies: list[Reply]
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(*replies: Reply) -> Iterator[Model]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.question = question
            model.asked.append(question)
            model.paths.append(self.path)
            model.keys.append(self.headers["Authorization"])
            self.over = model.over
            try:
                model.replies[min(len(model.asked), len(model.replies)) - 1](self)
            except OSError:
                self.close_connection = True  # the client has enough

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model = Model(f"http://127.0.0.1:{server.server_address[1]}/v1", list(replies))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield model
    finally:
        model.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
