"""Clients for tests of the suite: the command of the Python SDK's test bot, and of clients that are wrong."""

from __future__ import annotations

import sys
from pathlib import Path

CLASSIC_CLIENT = [
    sys.executable,
    str(Path(__file__).parents[1] / "e2e" / "classic_client.py"),
    "{host}",
    "{port}",
    "{team}",
]
WRONG_CLIENT = [sys.executable, str(Path(__file__).with_name("wrong_client.py"))]
TEST_BOT = [sys.executable, str(Path(__file__).with_name("conformance_bot.py"))]
