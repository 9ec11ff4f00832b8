"""The environment of all HTML templates: one place decides how texts of teams are escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.filters import FILTERS

from getstep_server.text import escape_control_chars


def escaped(text: str) -> str:
    """Return text as HTML, as templates escape it. The rows of long tables are made without a template."""
    made: str = FILTERS["escape"](escape_control_chars(text))
    return made


def template_environment(package: str) -> Environment:
    """Return the templates in a package's folder ``templates``. All text is escaped, also control characters."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=lambda value: escaped(value) if type(value) is str else value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
