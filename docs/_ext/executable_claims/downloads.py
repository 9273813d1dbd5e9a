"""Offer each chapter as a notebook with the outputs of this build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from .directives import claim_domain
from .words import words

if TYPE_CHECKING:
    from docutils.nodes import document


class AddDownload(SphinxTransform):
    """Put a link to the executed notebook under the title of a chapter.

    MyST-NB writes that notebook while it reads the page, from the executed one that it is given.
    """

    default_priority = 500
    document: document

    def apply(self, **kwargs: Any) -> None:
        """Add the link to the page, if it is a chapter with a title."""
        docname = self.env.docname
        title = next(iter(self.document.findall(nodes.title)), None)
        if docname not in claim_domain(self.env).site.chapters or title is None:
            return
        env: Any = self.env
        notebook = Path(env.mystnb_config.output_folder) / f"{docname}.ipynb"
        text = words(self.config.language)("Executed notebook")
        link = addnodes.download_reference(
            "",
            reftarget=f"/{os.path.relpath(notebook, self.env.srcdir)}",
            refdoc=docname,
        )
        link += nodes.inline("", text)
        place = title.parent.index(title) + 1
        title.parent.insert(place, nodes.paragraph("", "", link, classes=["claim-download"]))
