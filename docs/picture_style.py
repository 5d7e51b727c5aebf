"""The one style of all pictures, for plots of the guide and for the gallery."""

from pathlib import Path

import matplotlib as mpl

STYLE = dict(
    mpl.rc_params_from_file(
        Path(__file__).with_name("talr.mplstyle"), use_default_template=False
    )
)


def set_style(gallery_conf, fname):
    """Give an example of the gallery the style; sphinx-gallery calls it before each."""
    mpl.rcParams.update(STYLE)
