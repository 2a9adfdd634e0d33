"""`python -m routebook`."""

import sys

from routebook.cli import main

sys.exit(main())
