"""The ``claim`` directive and role, and the domain that they belong to."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst.directives import unchanged
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from .chapters import ClaimOptions
from .digest import tree_digest
from .elements import ClaimCard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from docutils.nodes import Element, Node, system_message
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.environment import BuildEnvironment

    from .discuss import Desk
    from .site import Site


class ClaimDirective(SphinxDirective):
    """States a claim. What is wrong with it, the build says when it has read all pages."""

    # Any option is taken: the build says which are wrong, together with all else.
    option_spec = defaultdict(  # noqa: RUF012 (docutils declares it so)
        lambda: unchanged, ClaimOptions.option_spec
    )
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[Node]:
        """Return the card with the sentence parsed."""
        slug = self.arguments[0]
        sentence = nodes.container(classes=["claim-sentence"])
        sentence += self.parse_content_to_nodes()
        card = ClaimCard("", sentence, slug=slug, ids=[slug])
        self.set_source_info(card)
        self.state.document.note_explicit_target(card, card)
        return [card]


class ClaimRole(XRefRole):
    """Links to a claim by its slug, or by words of the author's own."""

    def create_xref_node(self) -> tuple[list[Node], list[system_message]]:
        """Show a slug as code, and words as words."""
        self.innernodeclass = nodes.inline if self.has_explicit_title else nodes.literal
        return super().create_xref_node()

    def process_link(
        self,
        env: BuildEnvironment,
        refnode: Element,
        has_explicit_title: bool,
        title: str,
        target: str,
    ) -> tuple[str, str]:
        """Make the reference one of the claim domain."""
        refnode["refdomain"], refnode["reftype"] = ClaimDomain.name, "claim"
        return title, target.strip()


class ClaimDomain(Domain):
    """All claims of a site.

    Attributes:
        site: Pages, results and verdicts of this build. Not kept from build to build: they are
            read anew from the pages and the store, so that they can't be stale.
        desk: Makes the links of this build.
        read_all: Whether this build reads all pages, because the last one did not end well.
    """

    name = "claim"
    label = "Claim"
    object_types = {"claim": ObjType("claim", "claim")}  # noqa: RUF012 (Sphinx declares it so)
    initial_data = {  # noqa: RUF012
        "read": {},
        "indexes": set(),
        "places": {},
        "shown": "",
        "linked": "",
    }
    # What an older extension pickled is not read: any change of the extension starts anew.
    data_version = int(tree_digest(Path(__file__).parent)[:15], 16)
    site: Site
    desk: Desk
    read_all: bool = False

    @property
    def indexes(self) -> set[str]:
        """The pages that show other pages' verdicts."""
        indexes: set[str] = self.data["indexes"]
        return indexes

    def clear_doc(self, docname: str) -> None:
        """Forget a page."""
        self.indexes.discard(docname)

    def merge_domaindata(self, docnames: AbstractSet[str], otherdata: dict[str, Any]) -> None:
        """Take over what a parallel reader noted."""
        self.indexes.update(otherdata["indexes"] & set(docnames))

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        """Name every claim, for the search and for other projects' references."""
        yield from self._objects()

    def _objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        for decision in self.site.outcome.decisions:
            claim = decision.claim
            yield claim.slug, claim.slug, "claim", claim.docname, claim.slug, 1

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> nodes.reference | None:
        """Return the link to a claim, or None when there is none of that name."""
        decision = self.site.outcome.by_slug.get(target)
        if decision is None:
            return None
        claim = decision.claim
        return make_refnode(builder, fromdocname, claim.docname, claim.slug, contnode)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Return the link to a claim for a reference that does not say what it refers to."""
        found = self.resolve_xref(env, fromdocname, builder, "claim", target, node, contnode)
        return [("claim:claim", found)] if found else []


def claim_domain(env: BuildEnvironment) -> ClaimDomain:
    """Return the claim domain of a build."""
    domain = env.domains[ClaimDomain.name]
    assert isinstance(domain, ClaimDomain)
    return domain


def already_reported(app: Sphinx, domain: Domain, node: pending_xref) -> bool | None:
    """Keep Sphinx from reporting unknown claims a second time, and only when it reads the page."""
    return True if isinstance(domain, ClaimDomain) else None
