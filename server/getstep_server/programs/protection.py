"""A check of the sandbox: all its protections are tried once on this machine, before the first program is built.

That takes 6 s, so the result is kept in the contest's folder, with everything that it depends on: the kernel,
bubblewrap, the user, and the last restart, after which settings of the kernel may differ.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from getstep_server import __version__
from getstep_server.errors import ConfigError
from getstep_server.sandbox.check import Finding, check, missing
from getstep_server.text import escape_control_chars

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SHOWN = 3  # the rest is in `getstep-server sandbox`


def require_protections(programs: Path, tick: Callable[[str], None]) -> None:
    """Raise an error unless all protections hold on this machine.

    Args:
        programs: the folder of all programs of a contest, which keeps the result.
        tick: called with what is going on.

    Raises:
        ConfigError: a protection does not hold; the message says which, and what to do.
    """
    result = programs / ".protected"
    machine = machine_key()
    try:
        if result.read_text(encoding="ascii", errors="replace") == machine:
            return
    except OSError:
        pass  # it is tried again
    tick("trying the sandbox of this machine, once")
    if (reason := missing()) is not None:
        raise no_sandbox(reason)
    broken = [finding for finding in try_protections() if not finding.held]
    if broken:
        raise no_sandbox(_told(broken))
    try:
        result.write_text(machine, encoding="ascii")
    except OSError as error:
        raise ConfigError(f"{result}: {error.strerror or error}") from error


def try_protections() -> list[Finding]:
    """Try all protections of this machine, those that did not hold twice. It takes about 6 s."""
    found = {finding.probe.name: finding for finding in check()}
    broken = [name for name, finding in found.items() if not finding.held]
    if broken:  # on a machine that stands still for seconds, a probe may have ended too late
        found |= {finding.probe.name: finding for finding in check(names=broken)}
    return list(found.values())


def machine_key() -> str:
    """Return a text that differs if the sandbox may protect more or less than before."""
    bubblewrap = shutil.which("bwrap")
    facts: list[object] = [__version__, platform.platform(), sys.executable, bubblewrap]
    facts.append(os.geteuid() if hasattr(os, "geteuid") else None)
    for path in (bubblewrap, _BOOT):
        try:
            # after a start of the system, kernel and settings may be others
            facts.append(Path(path).read_bytes() if path == _BOOT else path and Path(path).stat().st_mtime_ns)
        except OSError:
            facts.append(None)
    return sha256(repr(facts).encode()).hexdigest()


def no_sandbox(reason: str) -> ConfigError:
    """Return the error for a machine on which programs cannot be protected."""
    return ConfigError(
        f'{escape_control_chars(reason)}. Or write sandbox = "none" into [programs] of contest.toml: then programs'
        " run without protection, and can read, change and send away whatever you can"
    )


def _told(broken: list[Finding]) -> str:
    shown = "; ".join(f"a program could {finding.probe.tried}" for finding in broken[:_SHOWN])
    more = f", and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
    return f"the sandbox does not protect this machine: {shown}{more}. To see what to do: getstep-server sandbox"
