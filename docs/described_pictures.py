"""Pictures of guide and gallery get the words of the run that drew them; for Sphinx.

A script of ``plots/`` says what it shows by ``picture_words.describe``. Of a figure of the
gallery, whose scripts stand alone, the words are read off what it has drawn. Thumbnails
have the words of their picture.
"""

import re
from pathlib import Path

from docutils import nodes
from matplotlib.sphinxext.plot_directive import PlotDirective
from picture_words import read_figure, take_words
from sphinx_gallery.scrapers import matplotlib_scraper

_MARK = "words of "
_LONG_ENOUGH = 80  # letters of words of a thumbnail, after which no panel is added


class DescribedPlot(PlotDirective):
    """``.. plot:: name.py``, whose alternative text is what the script says of itself."""

    def run(self):
        """Draw, keep the words, and mark the picture until it has become a node."""
        if not self.arguments:  # drawn by code in a docstring, beside its own words
            return super().run()
        env = self.state.document.settings.env
        name = Path(self.arguments[0]).stem
        kept = words_folder(env.app) / f"{name}.txt"
        if not kept.exists():  # draw again what is there without its words
            for picture in kept.parents[2].glob(f"plot_directive/**/{name}.*"):
                picture.unlink()
        self.options["alt"] = _MARK + name
        take_words()
        result = super().run()
        if words := take_words():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(words, encoding="utf-8")
        return result


def words_folder(app):
    """Where the words of the guide's pictures are kept between builds."""
    return Path(app.doctreedir) / "picture_words"


def give_words(app, doctree):
    """Replace marks by words, and describe thumbnails."""
    for image in doctree.findall(nodes.image):
        if image.get("alt", "").startswith(_MARK):
            name = image["alt"].removeprefix(_MARK)
            image["alt"] = (words_folder(app) / f"{name}.txt").read_text(encoding="utf-8")
        elif "/images/thumb/" in image["uri"]:
            image["alt"] = _words_of_thumbnail(app, image)
        elif "auto_examples/" in image["uri"]:  # of which a page borrows a picture
            kept = Path(app.srcdir, image["uri"].lstrip("/")).with_suffix(".txt")
            if kept.exists():
                image["alt"] = kept.read_text(encoding="utf-8")


def _words_of_thumbnail(app, image):
    """Words of the picture that an example shows first, or what the example is about."""
    path = Path(app.srcdir, image["uri"].lstrip("/"))
    stem = path.stem.removesuffix("_thumb")
    for kept in sorted(path.parents[1].glob(f"{stem}_*.txt")):
        first, *others = kept.read_text(encoding="utf-8").rstrip(".").split("; ")
        for panel in others:
            first += f"; {panel}" if len(first) < _LONG_ENOUGH else ""
        return f"{first}."
    return f"Picture of the example {stem.removeprefix('sphx_glr_').replace('_', ' ')}."


def scrape(block, block_vars, gallery_conf, **kwargs):
    """Save the figures of an example as sphinx-gallery does, with words for each."""
    import matplotlib.pyplot as plt

    words = [read_figure(plt.figure(number)) for number in plt.get_fignums()]
    rst = matplotlib_scraper(block, block_vars, gallery_conf, **kwargs)
    paths = re.findall(r"image-sg:: (\S+)", rst)
    for path, text in zip(paths, words, strict=True):
        kept = Path(gallery_conf["src_dir"], path.lstrip("/")).with_suffix(".txt")
        kept.write_text(text, encoding="utf-8")
    remaining = iter(words)
    return re.sub(r"(:alt:).*", lambda match: f"{match[1]} {next(remaining)}", rst)


def setup(app):
    """Called by Sphinx, after Matplotlib's own extension."""
    app.add_directive("plot", DescribedPlot, override=True)
    app.connect("doctree-read", give_words)
    return {"parallel_read_safe": False}
