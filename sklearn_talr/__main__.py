"""The command: print what a report of a bug needs."""

import argparse
import sys

from ._show_versions import show_versions


def main(argv=None):
    """Run the command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None takes those of the process. Without any, help is printed.

    Returns
    -------
    code : int
        0. Of wrong usage argparse itself makes 2.
    """
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
    if parser.parse_args(argv).versions:
        show_versions()
    else:
        parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
