"""Programs that tests start as processes of their own: clients, bots, attackers, and a server that dies."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = Path(__file__).parent
