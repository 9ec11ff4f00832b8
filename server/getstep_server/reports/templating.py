"""The environment of all HTML templates: one place decides how texts of teams are escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from getstep_server.text import escape_control_chars


def template_environment(package: str) -> Environment:
    """Return the templates in a package's folder ``templates``. All text is escaped, also control characters."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=lambda value: escape_control_chars(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
