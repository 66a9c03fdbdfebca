# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Reports: records of figures beside what the works that the project follows have published.

`records.py` reads records, `published.py` the published values (published/*.toml), `sections.py`
puts them together: tables and charts as data, with what is missing said. That is the report as
JSON; `text.py` and `page.py` show it. Nothing here runs a board. The same records give the same
report, to the byte: it has no time and no path but those that the records have.
"""
