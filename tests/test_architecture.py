"""The structure of the project: import arrows, purity of the engines, and facts that two places must agree on."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import getstep
import getstep_server

N = TypeVar("N", bound=ast.AST)
ROOT = Path(__file__).parents[1]
PACKAGES = {
    "getstep": ROOT / "sdk" / "getstep",
    "getstep_engines": ROOT / "engines" / "getstep_engines",
    "getstep_server": ROOT / "server" / "getstep_server",
    "getstep_bots": ROOT / "bots" / "getstep_bots",
    "getstep_conformance": ROOT / "conformance" / "getstep_conformance",
    "getstep_training": ROOT / "training" / "getstep_training",
}
ARROWS = {
    "getstep": {"getstep", "getstep_engines", "getstep_bots"},
    "getstep_engines": {"getstep_engines"},
    "getstep_server": {"getstep_server", "getstep", "getstep_engines", "getstep_conformance"},
    "getstep_conformance": {"getstep_conformance", "getstep", "getstep_engines"},
    "getstep_bots": {
        "getstep_bots",
        "getstep",
        "getstep_engines",
    },  # getstep calls the bots: for its types and notes
    "getstep_training": {"getstep_training", "getstep_engines"},
}
"""Which of our packages each of them may import."""

PURE = {
    *("__future__", "abc", "collections", "dataclasses", "enum", "functools", "itertools", "math", "operator"),
    *("reprlib", "typing"),
    "getstep_engines",
}
"""All that an engine may import: nothing that can read a file, a clock or a socket, or that has a state."""

IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint"}


# --- looking at the source ------------------------------------------------------------------------------------


def modules(package: str) -> list[Path]:
    """Return a package's modules, with those it carries as templates."""
    found = sorted(PACKAGES[package].rglob("*.py"))
    assert found, f"no module in {PACKAGES[package]}"
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def _by_type(path: Path) -> dict[type[ast.AST], list[ast.AST]]:
    """Return a module's nodes by their type. It is walked once: the walks took most of the time of these tests."""
    found: dict[type[ast.AST], list[ast.AST]] = {}
    for node in ast.walk(tree(path)):
        found.setdefault(type(node), []).append(node)
    return found


def nodes(path: Path, kind: type[N]) -> list[N]:
    """Return a module's nodes of a type, wherever in it."""
    return cast("list[N]", _by_type(path).get(kind, []))


def imported(path: Path, package: str) -> set[str]:
    """Return the top-level names that a module imports, wherever in it.

    A relative import is one of its own package.
    """
    names: set[str] = set()
    for plain in nodes(path, ast.Import):
        names |= {alias.name for alias in plain.names}
    for start in nodes(path, ast.ImportFrom):
        names.add(package if start.level else start.module or "")
    for call in nodes(path, ast.Call):
        if _called(call) in ("__import__", "import_module"):
            names |= set(_strings(call))
    return {name.partition(".")[0] for name in names}


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def texts(path: Path) -> set[str]:
    """Return a module's string literals."""
    return {node.value for node in nodes(path, ast.Constant) if isinstance(node.value, str)}


def _strings(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def offenders(package: str, allowed: set[str]) -> dict[str, set[str]]:
    """Return the modules of a package that import something else, with what."""
    found = {shown(path): imported(path, package) - allowed for path in modules(package)}
    return {name: names for name, names in found.items() if names}


def requirements(pyproject: Path) -> set[str]:
    """Return the packages of the distributions that a pyproject.toml asks for; but one, each is named like it."""
    names = [re.split(r"[^\w-]", line)[0] for line in project(pyproject)["dependencies"]]
    return {{"markdown-it-py": "markdown_it"}.get(name, name.replace("-", "_")) for name in names}


def project(pyproject: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return table


PROJECTS = {
    "getstep": ROOT / "sdk" / "pyproject.toml",
    "getstep_engines": ROOT / "engines" / "pyproject.toml",
    "getstep_bots": ROOT / "bots" / "pyproject.toml",
    "getstep_conformance": ROOT / "conformance" / "pyproject.toml",
    "getstep_training": ROOT / "training" / "pyproject.toml",
    "getstep_server": ROOT / "pyproject.toml",
}


# --- arrows ---------------------------------------------------------------------------------------------------


def test_a_package_leans_only_on_those_below_it() -> None:
    found = {
        shown(path): imported(path, package) & (set(PACKAGES) - ARROWS[package])
        for package in PACKAGES
        for path in modules(package)
    }
    assert {name: names for name, names in found.items() if names} == {
        "server/getstep_server/reports/training_data.py": {"getstep_training"},  # the extra `data`
    }


def test_the_tests_and_benchmarks_are_imported_by_nothing() -> None:
    for package in PACKAGES:
        for path in modules(package):
            assert not imported(path, package) & {"tests", "benchmarks"}, shown(path)


def test_tests_do_not_import_each_other() -> None:
    """Code that several test modules use is in a helper module, so that each can be read, run and renamed alone."""
    importing = re.compile(r"^\s*(?:from|import) .*\btest_\w+", re.MULTILINE)  # parsing 66,000 lines takes 4 s
    for path in (ROOT / "tests").rglob("*.py"):
        found = importing.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: {found and found[0]}"


def test_the_server_names_the_sample_bots_in_two_modules_only() -> None:
    naming = [path.name for path in modules("getstep_server") if "getstep_bots" in texts(path)]
    assert sorted(naming) == ["packages.py", "sample_bots.py"]


def test_the_contestants_side_needs_the_rules_the_bots_and_msgpack() -> None:
    assert offenders("getstep", {*sys.stdlib_module_names, *ARROWS["getstep"], "msgpack"}) == {}
    assert requirements(PROJECTS["getstep"]) == {"msgpack", "getstep_engines", "getstep_bots"}


def test_the_hosts_side_imports_what_it_asks_for() -> None:
    asked = requirements(PROJECTS["getstep_server"])
    assert set(PACKAGES) - {"getstep_server", "getstep_training"} <= asked
    own_sha = {"_sha256", "_sha2"}  # the interpreter's own: the first of Python 3.11, the other of later ones
    allowed = {*sys.stdlib_module_names, *own_sha, "getstep_server", *asked}
    assert offenders("getstep_server", allowed) == {
        # the extra `dask`; in processes of its own
        "server/getstep_server/cluster/address.py": {"yaml"},  # comes with Dask; imported where it is used
        "server/getstep_server/cluster/process.py": {"dask", "distributed"},
        "server/getstep_server/cluster/slurm.py": {"dask_jobqueue", "distributed"},
        "server/getstep_server/cluster/task.py": {"distributed"},
        # the extra `data`; imported where it is used
        "server/getstep_server/reports/training_data.py": {"getstep_training"},
        "server/getstep_server/storage/postgres.py": {"psycopg"},  # the extra `postgres`; imported where it is used
    }


def test_the_suites_of_test_cases_import_what_they_ask_for() -> None:
    """They know the protocol, from the public parts of `getstep`, and nothing of this project's server."""
    asked = requirements(PROJECTS["getstep_conformance"])
    assert asked == {"getstep", "getstep_engines", "jinja2", "msgspec", "trio"}
    assert offenders("getstep_conformance", {*sys.stdlib_module_names, "getstep_conformance", *asked}) == {}
    for path in modules("getstep_conformance"):
        for node in nodes(path, ast.ImportFrom):
            if not node.level and (node.module or "").startswith("getstep"):
                parts = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
                assert not [part for part in parts if part.startswith("_") and not part.startswith("__")], shown(
                    path
                )


def test_the_sample_bots_need_nothing_that_a_contestant_has_not() -> None:
    assert offenders("getstep_bots", {*sys.stdlib_module_names, *ARROWS["getstep_bots"]}) == {}
    assert requirements(PROJECTS["getstep_bots"]) == {"getstep_engines"}
    for path in modules("getstep_bots"):
        run = [node for node in tree(path).body if isinstance(node, ast.ImportFrom | ast.Import)]
        assert "getstep" not in {name for node in run for name in _names(node)}, shown(path)


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]


def test_the_engines_need_nothing() -> None:
    assert requirements(PROJECTS["getstep_engines"]) == set()


def test_what_learning_programs_use_is_pure_but_for_arrays() -> None:
    assert requirements(PROJECTS["getstep_training"]) == {"getstep_engines", "numpy"}
    pure = PURE | {"getstep_training", "numpy"}
    assert offenders("getstep_training", pure) == {
        "training/getstep_training/batch/__init__.py": {"importlib"},  # it reads the list of installed packages
        "training/getstep_training/pettingzoo.py": {"gymnasium", "pettingzoo"},  # the extra `pettingzoo`
        "training/getstep_training/open_spiel.py": {"pyspiel"},  # the extra `open_spiel`
        # it writes files; pyarrow is the extra `parquet`
        "training/getstep_training/turns.py": {"json", "pathlib", "pyarrow", "types"},
    }


def test_msgpack_is_known_to_one_module() -> None:
    knowing = [shown(p) for package in PACKAGES for p in modules(package) if "msgpack" in imported(p, package)]
    assert knowing == ["sdk/getstep/wire/_frames.py"]


def test_numpy_is_asked_for_and_known_to_one_module_of_the_server() -> None:
    """That module limits its threads; the commands that show no ratings never import it (`test_cli_start`)."""
    assert "numpy" in requirements(PROJECTS["getstep_server"])
    knowing = [shown(p) for p in modules("getstep_server") if "numpy" in imported(p, "getstep_server")]
    assert knowing == ["server/getstep_server/tournament/_numpy.py"]


def test_the_engines_are_pure() -> None:
    assert offenders("getstep_engines", PURE) == {
        "engines/getstep_engines/_plugins.py": {"importlib"},  # it reads the list of installed packages
        "engines/getstep_engines/_registry.py": {"importlib"},  # it imports a game when it is needed
        # random games from fixed seeds; pyspiel is the extra `open_spiel`
        "engines/getstep_engines/openspiel.py": {"pyspiel", "random", "re"},
        "engines/getstep_engines/value.py": {"typing_extensions"},  # for mypy only
    }
    for path in modules("getstep_engines"):
        calls = {_called(node) for node in nodes(path, ast.Call)}
        assert not calls & IMPURE_CALLS, shown(path)


def test_the_formats_are_pure() -> None:
    """They may draw lots, from a seed, and know nothing of the server but each other and `validation`."""
    allowed = PURE - {"getstep_engines"} | {
        "random",
        "bisect",
        "heapq",
        "importlib",
        "msgspec",
        "getstep",
        "getstep_server",
        "formats",
    }
    for path in (PACKAGES["getstep_server"] / "formats").glob("*.py"):
        assert imported(path, "formats") <= allowed, shown(path)
        assert rooms_imported(path) <= {"validation"}, shown(path)
        assert all(node.level < 2 for node in nodes(path, ast.ImportFrom)), shown(path)
        assert not {_called(node) for node in nodes(path, ast.Call)} & IMPURE_CALLS, shown(path)


def test_the_referee_is_pure() -> None:
    """It judges by what it is told: the server and practice at home give it the time of each turn."""
    for path in (PACKAGES["getstep"] / "referee").glob("*.py"):
        assert imported(path, "referee") <= PURE | {"getstep", "referee"}, shown(path)
        assert not {_called(node) for node in nodes(path, ast.Call)} & IMPURE_CALLS, shown(path)


def test_one_place_decides_a_turn() -> None:
    """A change of the rules of time and penalty is one edit: every other module calls `getstep.referee`."""
    for package in ("getstep", "getstep_server"):
        for path in PACKAGES[package].rglob("*.py"):
            if path.parent == PACKAGES["getstep"] / "referee":
                continue
            calls = [node for node in nodes(path, ast.Call) if node.args]
            names = {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)}
            assert not names & {"fault", "lose"}, shown(path)  # the engines' own `fault()` takes no argument


def test_one_place_starts_the_children_of_the_server() -> None:
    """The sandbox starts the programs of contestants. Two modules run a command of the system and wait for it."""
    found = set()
    for path in PACKAGES["getstep_server"].rglob("*.py"):
        calls = {_called(node).rpartition(".")[2] for node in nodes(path, ast.Call)}
        if calls & {"open_process", "Popen", "run_process"}:
            found.add(shown(path))
    server = "server/getstep_server"
    allowed = {f"{server}/children/process.py", f"{server}/sandbox/process.py", f"{server}/sandbox/check.py"}
    hostile = {name for name in found if name.startswith(f"{server}/sandbox/hostile/")}  # programs that attack
    assert found - hostile <= allowed


def test_one_module_knows_how_to_reach_a_listener_on_all_addresses() -> None:
    """Others ask it; the settings have "all addresses" as their default."""
    naming = [path.name for path in modules("getstep_server") if "0.0.0.0" in texts(path)]
    assert sorted(naming) == ["addresses.py", "contest.py"]


def test_one_place_tells_an_author_of_the_limits_of_the_sandbox() -> None:
    """The same limit has the same words, whether a program was killed by it or has noticed it itself."""
    telling = set()
    for path in PACKAGES["getstep_server"].rglob("*.py"):
        if any("MB of memory" in text for node in nodes(path, ast.JoinedStr) for text in _strings(node)):
            telling.add(shown(path))
    assert telling == {"server/getstep_server/sandbox/limits.py"}


def test_every_process_gets_its_group_from_one_place() -> None:
    """Ctrl-C is for the process that the user sees. On Windows a forgotten option lets it reach the others."""
    starts = []
    itself = PACKAGES["getstep"] / "client" / "restart.py"  # the user's program, which is started again
    for package in ("getstep", "getstep_server", "getstep_conformance"):
        for path in set(PACKAGES[package].rglob("*.py")) - {itself}:
            names = {_called(node).rpartition(".")[2] for node in nodes(path, ast.Call)}
            if names & {"open_process", "Popen"} and "sandbox" not in path.parts:  # Linux only
                starts.append(path)
                assert "own_group" in names, shown(path)
    assert len(starts) >= 3


# --- public faces ---------------------------------------------------------------------------------------------


OUTSIDE = ["benchmarks", "examples", "docs"]
"""Folders of Python files that use the packages, and are part of none."""

FACE_WORDS = ("In:", "Out:", "must not know")
"""What the docstring of a public sub-package, or of a room of the server, says: see CONTRIBUTING.md."""


def private_names(path: Path, package: str) -> set[str]:
    """Return the private names of other packages that a module uses; of the server's only outside of our packages.

    Also names in texts, such as the argument of ``sys.modules.get``.
    """
    names = {text for text in texts(path) if re.fullmatch(r"getstep[\w.]*\.[\w.]+", text)}
    for plain in nodes(path, ast.Import):
        names |= {alias.name for alias in plain.names}
    for start in nodes(path, ast.ImportFrom):
        if not start.level:
            names |= {f"{start.module}.{alias.name}" for alias in start.names}
    others = {*PACKAGES} if package in OUTSIDE else {"getstep", "getstep_engines", "getstep_bots"} - {package}
    return {name for name in names if name.split(".")[0] in others and re.search(r"\._(?!_)", name)}


def test_what_is_used_of_another_package_is_public() -> None:
    folders = {**PACKAGES, **{name: ROOT / name for name in OUTSIDE}}
    paths = {user: list(folder.rglob("*.py")) for user, folder in folders.items()}
    assert [user for user in folders if not paths[user]] == []
    found = {shown(path): private_names(path, user) for user, there in paths.items() for path in there}
    assert {name: names for name, names in found.items() if names} == {}


def test_what_a_room_uses_of_another_room_is_public() -> None:
    found: dict[str, list[str]] = {}
    for path in modules("getstep_server"):
        home = path.relative_to(PACKAGES["getstep_server"].parent).parent.parts
        froms = nodes(path, ast.ImportFrom)
        used = [name for node in froms for name in _absolute(node, home) if name.startswith("getstep_server.")]
        found[shown(path)] = [
            name for name in used if name.split(".")[:2] != list(home[:2]) and re.search(r"\._(?!_)", name)
        ]
    assert {name: names for name, names in found.items() if names} == {}


def test_a_sub_package_of_the_contestants_package_says_what_it_is_for() -> None:
    faces = {path.parent.name: tree(path) for path in PACKAGES["getstep"].glob("*/__init__.py")}
    docs = {name: ast.get_docstring(face) or "" for name, face in faces.items()}
    assert len(docs) >= 10
    assert [name for name, doc in docs.items() if any(word not in doc for word in FACE_WORDS)] == []


def test_a_package_has_no_circle_of_imports() -> None:
    """Neither among its modules, nor among its sub-packages; also not in a function or behind ``TYPE_CHECKING``.

    A type that would need a circle is a Protocol of the lower module. The package's own ``__init__`` is its face,
    and imports what it offers. The floors keep the rooms of the server apart.
    """
    circles = []
    for package in PACKAGES:
        among_modules = _arrows(package)
        among_parts: dict[str, set[str]] = {}
        for name, used in among_modules.items():
            part = name.split(".")[1]
            among_parts.setdefault(part, set()).update({other.split(".")[1] for other in used} - {part})
        assert any(among_modules.values()), package
        for arrows in (among_modules, {} if package == "getstep_server" else among_parts):
            try:
                graphlib.TopologicalSorter(arrows).prepare()
            except graphlib.CycleError as error:
                circles.append(error.args[1])
    assert circles == []


def _arrows(package: str) -> dict[str, set[str]]:
    """Return the modules of the same package that each module imports; the face of the package is left out."""
    names = {path: _module_name(path, package) for path in modules(package)}
    known = set(names.values())
    arrows = {}
    for path, name in names.items():
        home = tuple(name.split(".") if path.stem == "__init__" else name.split(".")[:-1])
        used = {_longest(target, known) for node in nodes(path, ast.ImportFrom) for target in _absolute(node, home)}
        arrows[name] = {other for other in used if other and other not in (name, package)}
    return {name: used for name, used in arrows.items() if name != package}


def _module_name(path: Path, package: str) -> str:
    parts = path.relative_to(PACKAGES[package].parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _longest(name: str, known: set[str]) -> str | None:
    """Return the module that an imported name is, or is in; None if the name is of another package."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


# --- the rooms of the server ------------------------------------------------------------------------------------

ROOMS: dict[str, tuple[int, set[str], str]] = {
    # room: floor, what it may import, why so
    "cli": (9, {"*"}, "a command may use whatever it shows or starts"),
    "runtime": (
        8,
        {
            "children",
            "bot_runner",
            "config",
            "errors",
            "events",
            "formats",  # the rule of publication holds in ladders
            "incident",
            "judges",
            "limits",
            "net",
            "play",
            "programs",
            "records",
            "sandbox",
            "standby",
            "storage",
            "text",
            "tournament",
        },
        "it connects the rooms of one run; what is shown is the command's business",
    ),
    "judges": (
        7,
        {"children", "config", "events", "incident", "limits", "net", "play", "records", "storage", "validation"},
        "it judges the matches that it gets, and knows nothing of the rest of the contest",
    ),
    "cluster": (
        7,
        {
            "children",
            "json_text",
            "bot_runner",
            "config",
            "errors",
            "events",
            "file_lock",
            "incident",
            "limits",
            "net",
            "play",
            "programs",
            "records",
            "sandbox",
            "storage",
            "text",
            "validation",
        },
        "a machine that plays one match knows no tournament",
    ),
    "play": (
        6,
        {"json_text", "config", "events", "incident", "limits", "net", "records", "storage"},
        "a match knows no other match",
    ),
    "reports": (
        6,
        {
            "addresses",
            "json_text",
            "config",
            "errors",
            "events",
            "incident",
            "formats",
            "limits",
            "programs",  # the published ones
            "records",
            "storage",
            "text",
            "tournament",
        },
        "it reads records and events, and never a running server",
    ),
    "api": (
        6,
        {"config", "formats", "records", "tournament"},
        "it makes answers of a tournament, and does not know who asks",
    ),
    "decisions": (
        7,
        {"config", "errors", "limits", "records", "reports", "storage", "text", "tournament", "validation"},
        "a ruling is a record; whoever plays reads it from the chain",
    ),
    "web": (
        8,
        {
            "addresses",
            "api",
            "children",
            "json_text",
            "bot_runner",
            "config",
            "decisions",  # the host's console makes them as the commands do
            "errors",
            "events",
            "limits",
            "login_limits",
            "net",  # for bots that play friendly matches, on a port of its own
            "programs",  # those that teams submit
            "records",
            "reports",
            "standby",  # copies come from the page
            "storage",
            "text",
            "tournament",
        },
        "it shows what is on disk, in a process of its own; a running server is none of its business",
    ),
    "net": (
        5,
        {"addresses", "children", "config", "errors", "events", "incident", "limits", "login_limits", "text"},
        "a socket knows no game, result or tournament",
    ),
    "standby": (
        6,
        {"config", "errors", "limits", "records", "storage", "text", "tournament"},
        "it copies a contest and decides who plays it, and knows neither bots nor judges",
    ),
    "storage": (
        5,
        {
            "json_text",
            "config",
            "errors",
            "events",
            "file_lock",
            "incident",
            "limits",
            "records",
            "text",
            "tournament",
        },
        "to open a contest is to project its records",
    ),
    "events": (4, {"addresses", "incident", "records", "text"}, "an event speaks of matches and results"),
    "tournament": (
        4,
        {"json_text", "config", "formats", "limits", "records", "text", "validation"},
        "a pure projection of records",
    ),
    "programs": (
        4,
        {"children", "config", "errors", "file_lock", "limits", "sandbox", "text", "validation"},
        "it builds and keeps programs, and knows no match that counts",
    ),
    "records": (
        3,
        {"json_text", "config", "formats", "limits", "text", "validation"},
        "a record carries the settings it was made under",
    ),
    "bot_runner": (
        6,
        {"children", "config", "errors", "events", "net", "programs"},
        "it starts processes for teams, and knows no judge",
    ),
    "sandbox": (3, {"limits"}, "it runs programs, and knows no contest"),
    "config": (
        2,
        {"addresses", "errors", "file_lock", "formats", "limits", "text", "validation"},
        "what the host writes comes before what happens",
    ),
    "addresses": (1, set(), "several rooms count by address"),
    "children": (2, {"limits", "text"}, "it starts a process, and does not know what that does"),
    "file_lock": (1, set(), "several rooms keep other processes away from a folder"),
    "formats": (1, {"validation"}, "pairing algorithms are pure"),
    "errors": (1, set(), "every room may raise them"),
    "incident": (1, set(), "it is published, stored and shown"),
    "json_text": (2, {"limits"}, "records and processes speak JSON"),
    "limits": (1, set(), "every room obeys them"),
    "login_limits": (2, {"addresses", "limits"}, "bots and browsers log in with the same tokens"),
    "text": (1, set(), "every room shows text"),
    "validation": (0, set(), "every room checks what comes from outside"),
}
"""The server's sub-packages and top-level modules; each imports only rooms on floors below its own."""

EXEMPT = {"__init__", "__main__"}
"""The package itself holds the version and nothing else; ``python -m`` starts the command."""


def _assigned(module: ast.Module) -> set[str]:
    """Return the names that a module assigns at its top level."""
    targets = [node.targets[0] for node in module.body if isinstance(node, ast.Assign)]
    targets += [node.target for node in module.body if isinstance(node, ast.AnnAssign)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGES["getstep_server"]).with_suffix("").parts[0]


def rooms_imported(path: Path) -> set[str]:
    """Return the rooms that a module of the server imports from, its own left out."""
    home = path.relative_to(PACKAGES["getstep_server"].parent).parent.parts
    found = set()
    for node in nodes(path, ast.ImportFrom):
        found |= {name.split(".")[1] for name in _absolute(node, home) if name.startswith("getstep_server.")}
    for plain in nodes(path, ast.Import):
        found |= {alias.name.split(".")[1] for alias in plain.names if alias.name.startswith("getstep_server.")}
    return {room for room in found if room in ROOMS} - {room_of(path)}


def _absolute(node: ast.ImportFrom, home: tuple[str, ...]) -> list[str]:
    """Return the dotted names that an import statement of a module in the package ``home`` may mean."""
    base = home[: len(home) - node.level + 1] if node.level else ()
    module = ".".join([*base, *([node.module] if node.module else [])])
    return [f"{module}.{alias.name}" for alias in node.names]


def test_every_room_of_the_server_is_in_the_table() -> None:
    assert {room_of(path) for path in modules("getstep_server")} - EXEMPT == set(ROOMS)


def test_the_diagram_shows_every_room_on_its_floor() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    diagram = text.partition("## The rooms of the server")[2].partition("\n## ")[0]
    shown: dict[str, int] = {}
    floor = 0
    for line in re.findall(r"^    (.*)$", diagram, re.MULTILINE):
        floor = int(line[0]) if line[0].isdigit() else floor
        for cell in re.split(r" {2,}|^\d +", line):
            shown |= {name: floor for name in cell.split(", ") if name in ROOMS}
    assert shown == {room: floor for room, (floor, _, _) in ROOMS.items()}


def test_a_room_may_only_use_rooms_on_floors_below() -> None:
    for room, (floor, allowed, why) in ROOMS.items():
        assert why, room
        if room != "cli":
            assert {other for other in allowed if ROOMS[other][0] >= floor} == set(), room


def test_a_room_imports_what_the_table_allows() -> None:
    forbidden, unused = dict[str, set[str]](), dict[str, set[str]]()
    for room, (_, listed, _) in ROOMS.items():
        allowed = set(ROOMS) - {room} if "*" in listed else listed
        found = {shown(path): rooms_imported(path) for path in modules("getstep_server") if room_of(path) == room}
        forbidden |= {name: rooms - allowed for name, rooms in found.items() if rooms - allowed}
        used = set().union(*found.values())
        if room != "cli" and allowed - used:
            unused[room] = allowed - used
    assert (forbidden, unused) == ({}, {}), "a module imports a room that the table forbids, or it allows too much"


def rooms_with_a_folder() -> list[str]:
    return sorted(room for room in ROOMS if (PACKAGES["getstep_server"] / room).is_dir())


def test_a_room_says_what_it_is_for_and_names_its_public_modules() -> None:
    assert [fault for room in rooms_with_a_folder() for fault in _faults_of_the_face(room)] == []


def _faults_of_the_face(room: str) -> Iterator[str]:
    face = tree(PACKAGES["getstep_server"] / room / "__init__.py")
    doc = ast.get_docstring(face) or ""
    if not all(word in doc for word in FACE_WORDS) and room not in ("cli", "formats"):
        yield f"{room} does not say what it is for"
    named = [node for node in face.body if isinstance(node, ast.Assign) and "__all__" in ast.dump(node.targets[0])]
    if not named:
        yield f"{room} names no public face"
        return
    imported_names = {
        alias.asname or alias.name for node in face.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    here = {path.stem for path in (PACKAGES["getstep_server"] / room).glob("*.py")}
    if unknown := set(_strings(named[0])) - here - imported_names - _assigned(face):
        yield f"{room} names {unknown}, which it does not have"


# --- the look of the source -----------------------------------------------------------------------------------


def test_each_exception_to_a_check_has_its_reason_beside_it() -> None:
    bare = re.compile(r"# (noqa(: [A-Z0-9, ]+)?|type: ignore(\[[a-z, -]+\])?)$", re.MULTILINE)
    ours = ("sdk", "engines", "server", "bots", "conformance", "training")
    folders = (*ours, "benchmarks", "tests", "docs", "examples")
    paths = {folder: list((ROOT / folder).rglob("*.py")) for folder in folders}
    assert [folder for folder in folders if not paths[folder]] == []
    found = [path for there in paths.values() for path in there if bare.search(path.read_text(encoding="utf-8"))]
    assert [shown(path) for path in found] == []


def test_a_package_says_that_it_has_types() -> None:
    assert [name for name, folder in PACKAGES.items() if not (folder / "py.typed").is_file()] == []


# --- what two places say ----------------------------------------------------------------------------------------


def test_the_version_is_the_same_everywhere() -> None:
    versions = {
        **{name: project(pyproject)["version"] for name, pyproject in PROJECTS.items()},
        "getstep.__version__": getstep.__version__,
        "getstep_server.__version__": getstep_server.__version__,
        "CHANGELOG.md": newest_change(),
    }
    assert len(set(versions.values())) == 1, versions
    asked = [line for pyproject in PROJECTS.values() for line in project(pyproject)["dependencies"]]
    ours = [line for line in asked if line.startswith("getstep")]
    assert {line.partition("==")[2] for line in ours} == {getstep.__version__}


def newest_change() -> str:
    """Return the version of CHANGELOG.md's first heading."""
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else "none"


def test_all_distributions_come_under_the_same_license() -> None:
    for pyproject in PROJECTS.values():
        text = (pyproject.parent / "LICENSE").read_text(encoding="utf-8")
        assert (text, project(pyproject)["license"]) == ((ROOT / "LICENSE").read_text(encoding="utf-8"), "MIT")
