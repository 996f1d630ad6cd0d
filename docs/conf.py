"""How the documentation site is built: `make docs`. Nothing is fetched from the network."""

import re
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

from ec3learn import Consensus, Votes
from ec3learn.demo import demo_votes, solve_demo

project = "ec3learn"
author = "The ec3learn developers"
copyright = "The ec3learn developers, MIT licence"
version = release = installed_version("ec3learn")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**.ipynb", "gallery/*.py"]
suppress_warnings = ["config.cache"]  # functions in sphinx_gallery_conf are not pickled

# ---- pages ---------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# ---- reference, from docstrings ------------------------------------------------------------------

default_role = "py:obj"
templates_path = ["_templates"]
autodoc_typehints = "none"  # docstrings say what a value means
autosummary_generate = True
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# ---- gallery -------------------------------------------------------------------------------------

GALLERY = [
    "annotators.py",
    "embeddings.py",
    "private_models.py",
    "few_labels.py",
    "llm_judges.py",
    "parquet.py",
    "digits.py",
]


def _place(script: str) -> int:
    return GALLERY.index(script) if script in GALLERY else len(GALLERY)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"readme_picture\.py$",
    "within_subsection_order": _place,
    "default_thumb_file": str(Path(__file__).parent / "images" / "idea.png"),
    "thumbnail_size": (480, 320),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("ec3learn",),
    "backreferences_dir": "gallery/backreferences",
    "inspect_global_variables": False,
    "capture_repr": ("_repr_html_",),
    "abort_on_example_error": True,
}

# ---- look ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "ec3learn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "start": [], "votes": []}  # they have no pages below them
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "secondary_sidebar_items": {
        "*": ["page-toc"],
        "reference/*": ["page-toc"],
        "gallery/*": [],
    },  # scripts need the room
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _links_to_examples(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to a script, which work in the repository, lead to its page with pictures."""
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", source[0])


def _link_names(app: Sphinx, page: nodes.document) -> None:
    """Let names of ours in the text of a page lead to the reference, where they are found there."""
    if not page["source"].endswith(".md"):
        return  # docstrings do so by their default role
    for literal in list(page.findall(nodes.literal)):
        name = re.match(r"[A-Za-z_][\w.]*(?=\(|$)", literal.astext())
        if name and not isinstance(literal.parent, nodes.title | nodes.reference | pending_xref):
            target = re.sub("^consensus[.]", "Consensus.", name[0])
            place = {"refdoc": app.env.docname, "py:module": "ec3learn"}
            literal.replace_self(
                pending_xref(
                    "", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=target, **place
                )
            )


def _skip_foreign(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: object
) -> bool | None:
    """Leave out what classes inherit from other libraries."""
    function = (
        getattr(member, "fget", None) or getattr(member, "func", None) or member
    )  # of a property, and of a cached one
    home = getattr(function, "__module__", None)
    return True if home is not None and not home.startswith("ec3learn") else None


def _hide_fields(
    app: Sphinx, what: str, name: str, value: object, options: object, *signature: str
) -> tuple[str, None] | None:
    """Show no signature of classes that are not made by calling them."""
    return ("", None) if value in (Consensus, Votes) else None


def _write_sample_report(app: Sphinx, error: Exception | None) -> None:
    """Put a report beside the pages, for report.md to show."""
    if error is None:
        _, consensus = solve_demo()
        truth = demo_votes()["truth"]
        consensus.report(
            Path(app.outdir) / "sample-report.html",
            truth=truth,
            title="600 simulated mails",
            overwrite=True,
        )


def setup(app: Sphinx) -> None:
    """Connect the steps above."""
    app.connect("source-read", _links_to_examples)
    app.connect("doctree-read", _link_names)
    app.connect("autodoc-skip-member", _skip_foreign)
    app.connect("autodoc-process-signature", _hide_fields)
    app.connect("build-finished", _write_sample_report)
