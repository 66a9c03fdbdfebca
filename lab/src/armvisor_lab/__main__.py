# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""`python -m armvisor_lab` is the command `lab`."""

import sys

from armvisor_lab.cli import main

sys.exit(main())
