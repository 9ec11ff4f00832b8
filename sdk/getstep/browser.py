"""Opening a page in the person's browser."""

from __future__ import annotations

import os
import sys


def open_in_browser(address: str) -> bool:
    """Open a page in a browser; return False if there is none to see it with."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # webbrowser would start a text browser in this terminal
    import webbrowser  # here: it takes 10 ms to import

    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
