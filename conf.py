"""Settings of the site; what each means is in Sphinx's, MyST's and the extensions' manuals."""

from importlib import metadata

project = "TensorHook RFC"
author = "the maintainers"
copyright = "the maintainers of the TensorHook RFC"
release = metadata.version("tensorhook-rfc")
language = "en"

extensions = ["myst_nb", "sphinx_design", "sphinx_copybutton", "executable_claims"]
include_patterns = ["index.md", "rfc/**", "docs/guides/**", "docs/reference/**"]
exclude_patterns = ["**/_*"]
nitpicky = True
locale_dirs = ["docs/locale"]
gettext_compact = False

myst_enable_extensions = [
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
    "substitution",
]
myst_heading_anchors = 3
nb_execution_mode = "off"  # executable_claims runs the cells

claims_depends = ["reference_impl/static_hooks", "requirements.lock"]
claims_preload = ["paddle"]
claims_environment = ["FLAGS_*", "MIN_GRAPH_SIZE", "ENABLE_*", "OMP_*", "STRICT_MODE"]
claims_distributions = ["paddlepaddle"]
claims_repository = "PaddlePaddle/community"
claims_threads = "docs/threads.yml"
claims_mutants = "static_hooks.mutants:MUTANTS"
claims_matrix = "docs/recorded/falsification.json"
claims_rules = "static_hooks.corpus:RULES"
claims_cases = "reference_impl/static_hooks/corpus"

# A new issue can only be opened by a person who is logged in; the form of these links is tested.
linkcheck_ignore = [r"https://github\.com/[^/]+/[^/]+/issues/new\?"]

html_theme = "sphinx_book_theme"
html_title = project
html_theme_options = {
    "show_navbar_depth": 2,
    "show_toc_level": 2,
    "use_download_button": False,  # each chapter links to its executed notebook
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the theme has its own search field
}
copybutton_exclude = ".linenos, .gp, .go"
