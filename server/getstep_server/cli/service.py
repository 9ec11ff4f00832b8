"""The command `service`."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from getstep_server.config.contest import Contest, load_contest
from getstep_server.errors import UsageError

from ._parser import EXIT_FAILED, EXIT_OK, folder_argument

UNITS = Path("/etc/systemd/system")

_SERVICE = """\
Print a unit for systemd, which runs a contest as a service: from the start of
the computer on, and again after a crash. A watchdog kills a server that hangs.
The server then resumes, and no finished match is lost.

The server runs as the owner of the contest's folder, and can write to nothing
else. It is ready when it listens. It starts the matches as `run` does: when all
teams are there, or when the host says so in the console.

With --now, write the unit, start the service, and start it with the computer.
That needs root.

If the folder has programs of teams, or with --programs, the unit leaves the
sandbox the rights that it needs.

examples:
  getstep-server service autumn > getstep-autumn.service
  sudo .venv/bin/getstep-server service autumn --now
  journalctl --unit getstep-autumn      # what the server prints
  systemctl stop getstep-autumn
"""

_UNIT = """\
[Unit]
Description={description}
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=10min
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=main
User={user}
ExecStart={command}
# 130: stopped with a signal. 2: a file of the contest is wrong, so a new start would fail, too.
SuccessExitStatus=130
Restart=on-failure
RestartPreventExitStatus=2
RestartSec=2
WatchdogSec=60
TimeoutStartSec=10min
TimeoutStopSec=1min
KillMode=mixed
LimitNOFILE=65536
OOMScoreAdjust=-500
UMask=0077

ProtectSystem=strict
ProtectHome={home}
ReadWritePaths={folder}
PrivateTmp=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelModules=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
KeyringMode=private
{more}
[Install]
WantedBy=multi-user.target
"""

_WITHOUT_PROGRAMS = """\
PrivateDevices=yes
DevicePolicy=closed
ProtectProc=invisible
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelTunables=yes
RestrictNamespaces=yes
MemoryDenyWriteExecute=yes
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
RemoveIPC=yes
"""

_WITH_PROGRAMS = """\
# The sandbox makes namespaces with mounts of their own, and cgroups.
Delegate=yes
"""


def add_service(parser: argparse.ArgumentParser) -> None:
    parser.description = _SERVICE
    folder_argument(parser)
    parser.add_argument("--now", action="store_true", help="write the unit, and start it now and with the computer")
    parser.add_argument("--programs", action="store_true", help="leave the sandbox of programs its rights")
    parser.set_defaults(command=_service)


def _service(args: argparse.Namespace) -> int:
    if sys.platform != "linux":
        raise UsageError("systemd is on Linux only; run the contest in a terminal")
    contest = load_contest(args.contest)
    text = unit(contest, programs=args.programs or (contest.folder / "programs").is_dir())
    if not args.now:
        print(text, end="")
        return EXIT_OK
    if os.geteuid() != 0:
        again = ["sudo", sys.executable, "-m", "getstep_server", "service", str(args.contest), "--now"]
        raise UsageError(f"--now needs root: {shlex.join(again)}")
    name = unit_name(contest.folder)
    try:
        (UNITS / name).write_text(text, encoding="utf-8")
        for words in (["daemon-reload"], ["enable", "--now", name]):
            # its place differs between systems, and the words are ours
            subprocess.run(["systemctl", *words], check=True)  # noqa: S603, S607 - see above
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}; this computer has no systemd") from error
    except subprocess.CalledProcessError:
        print(f"Wrote {UNITS / name}, but systemctl failed; see above, and: journalctl --unit {name}")
        return EXIT_FAILED
    print(f"{name} runs, and starts with the computer. What it prints: journalctl --unit {name} --follow")
    print(f"Stop it: systemctl stop {name}   Remove it: systemctl disable --now {name}; rm {UNITS / name}")
    return EXIT_OK


def unit_name(folder: Path) -> str:
    """Return the name of the unit for a contest's folder."""
    return f"getstep-{re.sub(r'[^A-Za-z0-9_.-]', '-', folder.resolve().name)}.service"


def unit(contest: Contest, *, programs: bool) -> str:
    """Return the unit that runs a contest.

    Args:
        contest: the contest.
        programs: True if the sandbox has to work in it.
    """
    folder = contest.folder.resolve()
    python = Path(sys.executable)
    homes = [Path("/home"), Path("/root"), Path("/run/user")]
    inside = any(path.is_relative_to(home) for path in (folder, python, python.resolve()) for home in homes)
    command = [str(python), "-m", "getstep_server", "run", str(folder), "--plain"]
    return _UNIT.format(
        description=f"getstep: {_escaped(contest.name)}",
        user=folder.owner(),
        command=" ".join(_word(word) for word in command),
        home="read-only" if inside else "yes",
        folder=_word(str(folder)),
        more=_WITH_PROGRAMS if programs else _WITHOUT_PROGRAMS,
    )


def _escaped(text: str) -> str:
    """Return a text in which systemd replaces nothing (systemd.unit(5), "Specifiers")."""
    return text.replace("%", "%%")


def _word(text: str) -> str:
    """Return a word of a command, or a path, in quotes where they are needed (systemd.service(5))."""
    quoted = _escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return quoted if re.fullmatch(r"[\w./%+:@=-]+", quoted) else f'"{quoted}"'
