"""Application for `spark-submit` that builds a lake on a cluster; takes the commands of `routebook lake`."""

import sys

from routebook.cli import main

if __name__ == "__main__":
    sys.exit(main(["lake", *sys.argv[1:]]))
