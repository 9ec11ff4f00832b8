"""What may lean on what: import arrows, purity of the engines, and the facts that two places have to agree on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import getstep
import getstep_server

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "getstep": ROOT / "sdk" / "getstep",
    "getstep_engines": ROOT / "engines" / "getstep_engines",
    "getstep_server": ROOT / "server" / "getstep_server",
    "getstep_bots": ROOT / "bots" / "getstep_bots",
}
ARROWS = {
    "getstep": {"getstep"},
    "getstep_engines": {"getstep_engines"},
    "getstep_server": {"getstep_server", "getstep", "getstep_engines"},
    "getstep_bots": {"getstep_bots", "getstep", "getstep_engines"},
}
"""Which of our packages each of them may import."""

PURE = {
    *("__future__", "abc", "collections", "dataclasses", "enum", "functools", "itertools", "math", "operator"),
    *("reprlib", "typing"),
    "getstep_engines",
}
"""All that an engine may import: nothing that can read a file, a clock or a socket, or that has a state."""

IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}
LONGEST_MODULE = 500


# --- looking at the source ------------------------------------------------------------------------------------


def modules(package: str) -> list[Path]:
    """A package's modules, with those it carries as templates."""
    found = sorted(PACKAGES[package].rglob("*.py"))
    assert found, f"no module in {PACKAGES[package]}"
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(path: Path, package: str) -> set[str]:
    """The top-level names that a module imports, wherever in it; a relative import is one of its own package."""
    names: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(package if node.level else node.module or "")
        elif isinstance(node, ast.Call) and _called(node) in ("__import__", "import_module"):
            names |= set(_strings(node))
    return {name.partition(".")[0] for name in names}


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _strings(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def offenders(package: str, allowed: set[str]) -> dict[str, set[str]]:
    """The modules of a package that import something else, with what."""
    found = {shown(path): imported(path, package) - allowed for path in modules(package)}
    return {name: names for name, names in found.items() if names}


def requirements(pyproject: Path) -> set[str]:
    """The distributions that a pyproject.toml asks for; here each is named like its package."""
    names = [re.split(r"[^\w-]", line)[0] for line in project(pyproject)["dependencies"]]
    return {name.replace("-", "_") for name in names}


def project(pyproject: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return table


SERVER_PROJECT, SDK_PROJECT = ROOT / "pyproject.toml", ROOT / "sdk" / "pyproject.toml"


# --- arrows ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_leans_only_on_those_below_it(package: str) -> None:
    others = set(PACKAGES) - ARROWS[package]
    found = {shown(path): imported(path, package) & others for path in modules(package)}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_tests_and_benchmarks_are_imported_by_nothing() -> None:
    for package in PACKAGES:
        for path in modules(package):
            assert not imported(path, package) & {"tests", "benchmarks"}, shown(path)


def test_the_sample_bots_are_named_in_the_demo_only() -> None:
    naming = [path.name for path in modules("getstep_server") if "getstep_bots" in set(_strings(tree(path)))]
    assert naming == ["demo.py"]


def test_the_contestants_side_needs_the_standard_library_and_msgpack() -> None:
    assert offenders("getstep", {*sys.stdlib_module_names, "getstep", "msgpack"}) == {}
    assert requirements(SDK_PROJECT) == {"msgpack"}


def test_the_hosts_side_imports_what_it_asks_for() -> None:
    asked = requirements(SERVER_PROJECT)
    assert "getstep" in asked
    assert (
        offenders("getstep_server", {*sys.stdlib_module_names, "getstep_server", "getstep_engines", *asked}) == {}
    )


def test_the_sample_bots_need_nothing_that_a_contestant_has_not() -> None:
    assert offenders("getstep_bots", {*sys.stdlib_module_names, *ARROWS["getstep_bots"]}) == {}


def test_msgpack_is_known_to_one_module() -> None:
    knowing = [shown(p) for package in PACKAGES for p in modules(package) if "msgpack" in imported(p, package)]
    assert knowing == ["sdk/getstep/wire/_frames.py"]


def test_the_engines_are_pure() -> None:
    assert offenders("getstep_engines", PURE) == {}
    for path in modules("getstep_engines"):
        calls = {_called(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
        assert not calls & IMPURE_CALLS, shown(path)


def test_the_formats_are_pure() -> None:
    """They may draw lots, from a seed, and of the server they know nothing but each other."""
    allowed = PURE - {"getstep_engines"} | {"random", "pydantic", "networkx", "getstep", "formats"}
    for path in (PACKAGES["getstep_server"] / "formats").glob("*.py"):
        assert imported(path, "formats") <= allowed, shown(path)
        nodes = list(ast.walk(tree(path)))
        assert all(node.level < 2 for node in nodes if isinstance(node, ast.ImportFrom)), shown(path)
        assert not {_called(node) for node in nodes if isinstance(node, ast.Call)} & IMPURE_CALLS, shown(path)


# --- the look of the source -----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["sdk", "engines", "server", "bots", "benchmarks"])
def test_no_module_is_too_long_to_read(folder: str) -> None:
    lengths = {
        shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")
    }
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_has_types(package: str) -> None:
    assert (PACKAGES[package] / "py.typed").is_file()


# --- what two places say ----------------------------------------------------------------------------------------


def test_the_version_is_the_same_everywhere() -> None:
    versions = {
        "pyproject.toml": project(SERVER_PROJECT)["version"],
        "sdk/pyproject.toml": project(SDK_PROJECT)["version"],
        "getstep.__version__": getstep.__version__,
        "getstep_server.__version__": getstep_server.__version__,
        "CHANGELOG.md": newest_change(),
    }
    assert len(set(versions.values())) == 1, versions
    assert f"getstep=={getstep.__version__}" in project(SERVER_PROJECT)["dependencies"]


def newest_change() -> str:
    """The version of CHANGELOG.md's first heading."""
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else "none"


def test_both_distributions_come_under_the_same_license() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8") == (ROOT / "sdk" / "LICENSE").read_text(encoding="utf-8")
    assert project(SERVER_PROJECT)["license"] == project(SDK_PROJECT)["license"] == "MIT"
