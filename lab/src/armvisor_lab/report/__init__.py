# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""Reports: records of figures next to the published values of the works that the project follows.

`records.py` reads records, `published.py` the published values (published/*.toml). `sections.py`
combines them: tables and charts as data, with notes on what is missing. That is the report as JSON;
`text.py` and `page.py` show it. Nothing here runs a board. The same records give the same report,
byte for byte: it has no time and no path other than those of the records.
"""
