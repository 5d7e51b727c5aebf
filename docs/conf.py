"""Sphinx configuration. Nothing is downloaded while the documentation is built."""

import doctest
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import picture_style

import sklearn_talr

project = "sklearn-talr"
author = "The sklearn-talr developers"
copyright = author
version = release = sklearn_talr.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
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

# Pictures of the guide: `.. plot:: name.py` draws what plots/name.py says.
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
    "filename_pattern": "/plot_",  # the others are shown, but not run
    "doc_module": ("sklearn_talr",),
    "backreferences_dir": "api/generated/backreferences",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"sklearn-talr {version}"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
