"""Claims that documentation makes, decided by running its cells in every build.

In a cell, a test or at the prompt: ``from executable_claims import claim``.
In ``conf.py``: ``extensions = ["myst_nb", "executable_claims"]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .evidence import Checker, claim

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["Checker", "claim", "setup"]
__version__ = "0.1.0"


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the extension to Sphinx."""
    # Cells import this package too: they must not pay for Sphinx.
    from . import build, cards, directives, discussions, downloads, elements, heatmap, index

    app.setup_extension("myst_nb")
    build.add_settings(app)

    app.add_domain(directives.ClaimDomain)
    app.add_directive("claim", directives.ClaimDirective)
    app.add_directive("claim-index", index.ClaimIndexDirective)
    app.add_directive("claim-discussions", discussions.DiscussionMapDirective)
    app.add_directive("claim-matrix", heatmap.ClaimMatrixDirective)
    app.add_role("claim", directives.ClaimRole())

    elements.add_nodes(app)
    app.add_transform(downloads.AddDownload)
    app.add_post_transform(cards.ResolveCards)
    app.add_post_transform(index.ResolveIndex)
    app.add_post_transform(heatmap.ResolveMatrix)
    app.add_post_transform(discussions.ResolveDiscussions)

    app.connect("config-inited", build.check_configuration)
    app.connect("builder-inited", build.note_unfinished)
    app.connect("env-get-outdated", build.run_chapters)
    app.connect("env-updated", build.judge)
    app.connect("warn-missing-reference", directives.already_reported)
    app.connect("html-page-context", build.add_assets)
    app.connect("build-finished", build.write_data)
    app.connect("build-finished", build.note_finished, priority=900)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
