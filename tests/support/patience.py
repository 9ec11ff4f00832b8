"""The time limits of waits in tests."""

from __future__ import annotations

import os

PATIENCE_SECONDS = float(os.environ.get("GETSTEP_PATIENCE_SECONDS", "240"))
"""For what comes within a moment when all is well. Only a test that hangs waits as long, on a busy machine too."""

INSTALL_SECONDS = 4 * PATIENCE_SECONDS
"""For pip, which needs the network as well."""
