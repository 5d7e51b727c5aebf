"""Sphinx configuration. Nothing is downloaded while the documentation is built."""

import doctest
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "literal"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# The examples of pages and docstrings run as tests by
#     python -m sphinx -b doctest -D plot_gallery=0 docs docs/_build/doctest
doctest_default_flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
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
