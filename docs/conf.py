"""How these pages are built: python -m sphinx -W --keep-going -b html docs docs/_build/html (without network)."""

from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

import quadric

DOCS = Path(__file__).parent

project = "quadric"
author = "The quadric developers"
copyright = author  # noqa: A001
release = version = quadric.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
smartquotes = False  # x'Wx is no quotation

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("quadric",),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "image_srcset": ["2x"],
}

html_theme = "pydata_sphinx_theme"
html_title = f"quadric {release}"
html_static_path = ["_static"]
html_css_files = ["quadric.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
html_math_renderer = "mathml"
html_sidebars = {"index": [], "installation": [], "start": [], "auto_examples/*": []}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def inline_formula(writer, node):
    """MathML, which browsers draw without a script: pages fetch nothing when they are read either."""
    writer.body.append(tex2mathml(node.astext()))
    raise SkipNode


def displayed_formula(writer, node):
    """The same for a formula on a line of its own."""
    writer.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


def list_results(app, docname, source):
    """List the page that ``quadric paper --docs docs/reproduction.md`` writes, where it exists."""
    if docname == "reproducing" and (DOCS / "reproduction.md").exists():
        source[0] += "\n```{toctree}\n:caption: The last run\n\nreproduction\n```\n"


def setup(app):
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("source-read", list_results)
