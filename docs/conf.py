"""Sphinx configuration. Nothing is downloaded while the documentation is built."""

import ast
import doctest
import re
import sys
from importlib import resources
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import picture_style
from docutils import nodes
from matplotlib.sphinxext.plot_directive import PlotDirective

import sklearn_talr

project = "sklearn-talr"
author = "The sklearn-talr developers"
copyright = author
version = release = sklearn_talr.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_copybutton",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "plots"]
templates_path = ["_templates"]
default_role = "literal"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# The examples of pages and docstrings run as tests by
#     python -m sphinx -b doctest -D plot_gallery=0 docs docs/_build/doctest
doctest_default_flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Pictures of the guide: `.. plot:: name.py` runs plots/name.py, whose docstring is the
# alternative text of the picture.
plot_basedir = "plots"
plot_formats = ["svg"]
plot_rcparams = picture_style.STYLE
plot_apply_rcparams = True
plot_include_source = plot_html_show_source_link = plot_html_show_formats = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "subsection_order": [
        f"../examples/{section}"
        for section in (
            "first_steps",
            "ties_and_metrics",
            "search",
            "papers",
            "beyond_hashing",
        )
    ],
    "reset_modules": ("matplotlib", "picture_style.set_style"),
    "image_srcset": ["2x"],
    "filename_pattern": "/plot_",  # other examples are shown, but not run
    "doc_module": ("sklearn_talr",),
    "backreferences_dir": "api/generated/backreferences",
    "download_all_examples": False,
    "capture_repr": (),  # pages show the text that a script prints
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

# Every reference must resolve. Names of other projects are listed in docs/inventories, in
# plain text: add a line there for a name that no page has referred to yet.
nitpicky = True
nitpick_ignore = [("ref", "accuracy_score")]  # in scikit-learn's ClassifierMixin.score
intersphinx_mapping = {
    name: (url, f"inventories/{name}.inv")
    for name, url in {
        "scipy": "https://docs.scipy.org/doc/scipy/reference/",
        "sklearn": "https://scikit-learn.org/stable/",
        "torch": "https://docs.pytorch.org/docs/stable/",
    }.items()
}

# Buttons copy code without prompts, and without what it prints.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "main div.highlight pre"

# Formulas are set by a MathJax that a Python package brings along.
MATHJAX = resources.files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg.js"
mathjax_path = MATHJAX.name

html_theme = "pydata_sphinx_theme"
html_title = f"sklearn-talr {version}"
html_copy_source = False
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["site.css"]
html_sidebars = {
    page: ["site-nav.html"] for page in ("quickstart", "glossary", "whats_new")
}
html_favicon = "_static/logo-light.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the system asks
html_theme_options = {
    "logo": {
        "text": "sklearn-talr",
        "alt_text": "sklearn-talr",
        "image_light": "_static/logo-light.svg",
        "image_dark": "_static/logo-dark.svg",
    },
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}


class Picture(PlotDirective):
    """The directive ``.. plot:: name.py``, with the docstring of name.py as `alt`."""

    def run(self):
        """Draw the picture. A directive without a name holds its code and its own `alt`."""
        if self.arguments:
            script = Path(__file__).parent / plot_basedir / self.arguments[0]
            words = ast.get_docstring(ast.parse(script.read_text("utf-8")))
            self.options["alt"] = " ".join(words.split())
        return super().run()


def leave_names_with_at(app, doctree):
    """Make text again of what looks like a mail address: ``mAP@1000`` is a metric."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(link.children)


def keep_thousands_together(app, doctree):
    """Let no line end within a number such as 59 000."""
    code = nodes.FixedTextElement, nodes.literal, nodes.math
    for text in list(doctree.findall(nodes.Text)):
        kept = re.sub(r"(?<=\d)\s(?=\d{3}\b)", "\N{NO-BREAK SPACE}", text)
        if kept != text and not isinstance(text.parent, code):
            text.parent.replace(text, nodes.Text(kept))


def give_scopes(app, pagename, templatename, context, doctree):
    """Mark header cells of tables with `scope`, for screen readers."""

    def mark(match):
        scope = "col" if match[0].startswith("<thead") else "row"
        return re.sub(r"<th\b(?![^>]*\bscope=)", f'<th scope="{scope}"', match[0])

    if "body" in context:
        heads = r"<thead>.*?</thead>|<th\b[^>]*>"
        context["body"] = re.sub(heads, mark, context["body"], flags=re.DOTALL)


def setup(app):
    """Register what this file defines; Sphinx calls it after the extensions."""
    app.add_directive("plot", Picture, override=True)
    app.connect("doctree-read", leave_names_with_at)
    app.connect("doctree-read", keep_thousands_together)
    app.connect("html-page-context", give_scopes)
