"""`python -m understudy`: the same as the `understudy` command."""

import sys

from understudy.main import main

if __name__ == "__main__":
    sys.exit(main())
