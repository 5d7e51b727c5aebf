"""``python -m sklearn_talr --versions``: what a report of a bug needs."""

import argparse

from ._show_versions import show_versions

parser = argparse.ArgumentParser(
    prog="python -m sklearn_talr",
    description="Short binary codes for retrieval. This command describes what is "
    "installed. Runs and judgments have one of their own, sklearn-talr-runs.",
)
parser.add_argument(
    "--versions",
    action="store_true",
    help="print the versions and the machine, for a report of a bug",
)

if __name__ == "__main__":
    show_versions() if parser.parse_args().versions else parser.print_help()
