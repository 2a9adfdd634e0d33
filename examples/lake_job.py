"""What `spark-submit` is given to build a lake on a cluster: the commands of `routebook lake`."""

import sys

from routebook.cli import main

if __name__ == "__main__":
    sys.exit(main(["lake", *sys.argv[1:]]))
