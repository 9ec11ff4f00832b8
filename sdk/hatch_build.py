"""Packs the SDKs for other languages into one file of the wheel: 0.5 MB of source becomes 0.12 MB."""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LANGUAGES = ("cpp", "csharp", "java", "javascript")
PACKED = "getstep/languages/files.zip.gz"
LEFT_OUT = "bots"  # examples and bots of tests
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date of a zip file: the same content gives the same file


class Hook(BuildHookInterface[Any]):
    """Adds the packed files to a wheel. An editable install reads them from their folders."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file, unless the install is editable."""
        if version == "editable":
            return
        self._folder = tempfile.mkdtemp()
        packed = Path(self._folder, "files.zip.gz")
        root = Path(self.root)
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w") as archive:
            for language in LANGUAGES:
                for path in sorted((root / language).rglob("*")):
                    name = path.relative_to(root)
                    if path.is_file() and LEFT_OUT not in name.parts:
                        info = zipfile.ZipInfo(name.as_posix(), EPOCH)
                        archive.writestr(info, path.read_bytes())
        packed.write_bytes(gzip.compress(memory.getvalue(), mtime=0))  # as a whole: files are much alike
        build_data["force_include"][str(packed)] = PACKED

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - the interface's
        """Remove it."""
        shutil.rmtree(getattr(self, "_folder", ""), ignore_errors=True)
