"""``python -m quadric``: the command line."""

import sys

from quadric.cli import main

if __name__ == "__main__":
    sys.exit(main())
