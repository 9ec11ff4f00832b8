"""Calls functions of the viewer's ES modules in node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from getstep.replay import MODULES, source

NODE = shutil.which("node")
NEEDS_NODE = "needs node"

_CALLS = """
import { readFileSync } from "node:fs";
const answers = [];
for (const [module, name, parameters] of JSON.parse(readFileSync(0, "utf8"))) {
  answers.push((await import(`./${module}`))[name](...parameters));
}
process.stdout.write(JSON.stringify(answers));
"""

Call = tuple[str, str, Sequence[Any]]


def call_in_node(calls: Sequence[Call], sources: Mapping[str, str] | None = None) -> list[Any]:
    """Return what functions return, each given by its module, its name and its parameters, all as JSON.

    ``sources`` are further modules, by the names of their files.
    """
    for name, text in (sources or {}).items():
        (_folder() / name).write_text(text, encoding="utf-8")
    command = [str(NODE), str(_folder() / "calls.js")]
    ran = subprocess.run(command, input=json.dumps(calls), capture_output=True, text=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
    answers: list[Any] = json.loads(ran.stdout)
    return answers


@cache
def _folder() -> Path:
    """Return a folder with the modules. Without the package.json there node would read them as CommonJS."""
    folder = Path(mkdtemp(prefix="getstep-node-"))
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "calls.js").write_text(_CALLS)
    for name in MODULES:
        (folder / name).write_text(source(name), encoding="utf-8")
    return folder
