# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A report as one HTML page: it contains style and drawings, has no script, and loads nothing.

The page's own security policy forbids loading. Text from a record is always text: Jinja2 escapes
everything that is inserted.
"""

import re
from importlib.resources import files

from armvisor_lab.errors import LabError
from armvisor_lab.report import charts
from armvisor_lab.report.model import Report, Section


def _code(text: str) -> str:
    """Text with what stands in backticks, and commands, as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def render(report: Report) -> str:
    """The page's HTML."""
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError as error:
        raise LabError("the page is made with Jinja2, which is not installed",
                       "run `make setup`; `--text` and `--json` do without") from error  # fmt: skip
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"code": _code, "draw": charts.draw, "trend": charts.trend}
    style = (files(__package__) / "templates/style.css").read_text(encoding="utf-8")
    contents: dict[str, list[Section]] = {}
    for section in report.sections[report.first :]:
        contents.setdefault(section.group, []).append(section)
    page = environment.get_template("page.html")
    return page.render(report=report, contents=contents, style=Markup(style))
