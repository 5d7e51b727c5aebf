"""Lay a built site beside those of other versions, and tell all of them which there are.

    python docs/publish_site.py docs/_build/html SITE --version 0.2 --stable
    python docs/publish_site.py docs/_build/html SITE --version dev

SITE is the folder that is served. It gets a folder for each version, and ``stable``, a copy
of the newest release. The button with the version in the head of each page reads
``_static/switcher.json`` of its own folder, so no page asks another host. This script
writes that file into all folders.
"""

import argparse
import json
import re
import shutil
from pathlib import Path

SWITCHER = Path("_static") / "switcher.json"
DEV, STABLE = "dev", "stable"


def publish(built, site, version, stable=False, base="/"):
    """Put a site in its place, and write the list of versions into all.

    Parameters
    ----------
    built : Path
        What Sphinx has built.

    site : Path
        The folder that is served.

    version : str
        ``"dev"``, or the first two numbers of a release.

    stable : bool
        Whether this is the newest release, which links from elsewhere lead to.

    base : str
        Path of the site on its host, from the first slash to the last.
    """
    if version != DEV and not re.fullmatch(r"\d+\.\d+", version):
        raise ValueError(f"version must be 'dev' or as '0.2', got {version!r}.")
    if stable and version == DEV:
        raise ValueError("Only a release can be stable; leave --stable out.")
    if not (base.startswith("/") and base.endswith("/")):
        raise ValueError(f"base must begin and end with a slash, got {base!r}.")
    for name in [version, STABLE] if stable else [version]:
        shutil.rmtree(site / name, ignore_errors=True)
        shutil.copytree(built, site / name)
    if stable:
        (site / STABLE / SWITCHER).with_name("stable").write_text(version)
    entries = list_versions(site, base)
    for name in folders(site):
        (site / name / SWITCHER).write_text(json.dumps(entries, indent=1) + "\n")


def folders(site):
    """Folders of the site that hold a version."""
    return [path.name for path in site.iterdir() if (path / SWITCHER).exists()]


def list_versions(site, base):
    """What the button lists: the development, and releases with the newest first."""
    marker = (site / STABLE / SWITCHER).with_name("stable")
    stable = marker.read_text() if marker.exists() else None
    names = set(folders(site)) - {STABLE}
    releases = sorted(names - {DEV}, key=lambda name: [*map(int, name.split("."))])
    entries = []
    for name in [DEV] * (DEV in names) + releases[::-1]:
        entry = {"name": name, "version": name, "url": f"{base}{name}/"}
        if name == stable:
            entry |= {"name": f"{name} (stable)", "url": f"{base}{STABLE}/"}
            entry["preferred"] = True
        entries.append(entry)
    return entries


def main(argv=None):
    """Publish what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("built", type=Path)
    parser.add_argument("site", type=Path)
    parser.add_argument("--version", required=True)
    parser.add_argument("--stable", action="store_true", help="it is the newest release")
    parser.add_argument("--base", default="/", help="path of the site on its host")
    args = parser.parse_args(argv)
    publish(args.built, args.site, args.version, args.stable, args.base)


if __name__ == "__main__":
    main()
