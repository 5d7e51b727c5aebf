"""The paper as a page of the site: ``paper/paper.md``, in Markdown, to ``paper.rst``.

The paper uses headings, paragraphs, one table, emphasis, code, formulas and citations. A
converter for just these is shorter than the settings of a general one, which would read
neither the citations nor the file of references.
"""

import re
from pathlib import Path

PAPER = Path(__file__).parent / "paper"
PAGE = PAPER.with_suffix(".rst")


def write_page():
    """Write the page, if it is not there as it should be."""
    text = as_page((PAPER / "paper.md").read_text("utf-8"), read_references(PAPER))
    if not PAGE.exists() or PAGE.read_text("utf-8") != text:
        PAGE.write_text(text, "utf-8")


def read_references(folder):
    """Fields of each entry of ``paper.bib``, by its key."""
    text = (folder / "paper.bib").read_text("utf-8")
    entries = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    fields = r"^  (\w+) = \{(.*)\},$"
    return {key: dict(re.findall(fields, body, re.MULTILINE)) for key, body in entries}


def as_page(markdown, references):
    """The page in reStructuredText."""
    _, header, body = re.split(r"^---$", markdown, maxsplit=2, flags=re.MULTILINE)
    title = re.search(r"^title: '(.*)'$", header, re.MULTILINE)[1]
    date = re.search(r"^date: (.*)$", header, re.MULTILINE)[1]
    numbers = {}  # of references, in the order of their first citation
    blocks = [as_block(block, numbers) for block in body.strip().split("\n\n")]
    named = [f"#. {as_reference(references[key])}" for key in numbers]
    head = [underlined(title, "="), f"*The sklearn-talr developers, {date}.*"]
    return "\n\n".join([*head, *blocks, "\n".join(named)]) + "\n"


def as_block(block, numbers):
    """A heading, a table or a paragraph."""
    if block.startswith("# "):
        return underlined(block[2:], "-")
    if block.startswith("|"):
        return as_table(block)
    return as_text(block, numbers)


def as_text(text, numbers):
    """A paragraph, with its code, formulas and citations."""
    text = re.sub(r"`([^`]+)`", r"``\1``", text)
    text = re.sub(r"\$([^$]+)\$", r":math:`\1`", text)

    def number(match):
        keys = re.findall(r"@(\w+)", match[1])
        found = [numbers.setdefault(key, len(numbers) + 1) for key in keys]
        return f"[{', '.join(map(str, found))}]"

    return re.sub(r"\[(@[^\]]+)\]", number, text)


def as_table(block):
    """A table with a head."""
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
    )
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for first, *others in [head, *rows]:
        lines += [f"   * - {first}", *(f"     - {cell}" for cell in others)]
    return "\n".join(lines)


def as_reference(fields):
    """Authors, title and place of a work."""
    authors = fields["author"].replace(" and others", " et al.").replace(" and ", "; ")
    place = fields.get("booktitle") or fields.get("journal")
    parts = [authors, f"*{fields['title']}*", place, fields.get("volume")]
    pages = fields.get("pages", "").replace("--", " to ")
    parts += [f"pages {pages}" if pages else None, fields["year"]]
    return ", ".join(filter(None, parts)) + "."


def underlined(text, mark):
    return f"{text}\n{mark * len(text)}"
