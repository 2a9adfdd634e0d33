"""Entry point for `python -m routebook.lake` and `spark-submit`: the same commands as `routebook lake`."""

import sys

from routebook.cli import main

if __name__ == "__main__":
    sys.exit(main(["lake", *sys.argv[1:]]))
