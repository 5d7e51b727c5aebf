"""``python -m sklearn_talr --versions``: what a report of a bug needs."""

import argparse

from .commands.versions import show_versions

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_talr",
        description="Short binary codes for retrieval. This command describes what is "
        "installed. Runs and judgments have one of their own, sklearn-talr-runs.",
    )
    text = "print the versions and the machine, for a report of a bug"
    parser.add_argument("--versions", action="store_true", help=text)
    show_versions() if parser.parse_args().versions else parser.print_help()
