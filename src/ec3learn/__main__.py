"""`python -m ec3learn` is the command `ec3learn`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
