"""The example programs of the conventions, and the tools that each language needs."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "bots" / "programs"
TOOLS = {".cpp": ("g++",), ".java": ("javac", "java"), ".cs": ("mcs", "mono")}
LANGUAGES = (".py", *TOOLS)
STEM = {"topcoder": {".py": "pseudo_tonga"} | dict.fromkeys(TOOLS, "PseudoTonga")}


def example(convention: str, language: str) -> Path:
    folder = EXAMPLES / convention.replace("-", "_")
    stem = "Example" if language in (".java", ".cs") else "example"
    return folder / f"{STEM.get(convention, {}).get(language, stem)}{language}"
