"""Programs that tests start as processes of their own: clients, bots, attackers, and a server that dies."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).parent


# --- clients for tests of the suite: the command of the Python SDK's test bot, and of clients that are wrong ----

CLASSIC_CLIENT = [
    sys.executable,
    str(SCRIPTS / "classic_client.py"),
    "{host}",
    "{port}",
    "{team}",
]
WRONG_CLIENT = [sys.executable, str(SCRIPTS / "wrong_client.py")]
TEST_BOT = [sys.executable, str(SCRIPTS / "conformance_bot.py")]
