"""Give every claim its verdict, and say all that is wrong. Pure: no files, no Sphinx."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import close_names, suggestion
from .model import Claim, Decision, Evidence, Message, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .chapters import Page
    from .store import Execution

HIDING_TAG = re.compile(r"(remove|hide)[-_](cell|input|output)s?")
FORBIDDEN_METADATA = (
    "execution_allow_errors",
    "execution_mode",
    "execution_excludepatterns",
    "remove_code_source",
    "remove_code_outputs",
)
LONGEST_LIST = 5
"""A message shows up to this many failed checks of a claim."""


@dataclass
class Outcome:
    """What a build found.

    Attributes:
        decisions: Every claim with its verdict, in the order of pages and lines.
        messages: What must be mended. The build fails unless it is empty.
    """

    decisions: list[Decision] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    @property
    def by_slug(self) -> dict[str, Decision]:
        """The decisions by the slug of their claim."""
        return {decision.claim.slug: decision for decision in self.decisions}


def decide(pages: Mapping[str, Page], executions: Mapping[str, Execution]) -> Outcome:
    """Judge all claims of a site.

    Args:
        pages: Every page by its name.
        executions: The results of the pages that are chapters, by name.

    Returns:
        The verdicts and everything that is wrong.
    """
    claims, messages = _unique_claims(pages)
    deciding: dict[str, Evidence] = {}
    for docname, execution in executions.items():
        messages += [Message(f.subtype, docname, f.line, f.text) for f in execution.faults]
        messages += _assign(docname, execution.evidence, claims, deciding)
    decisions = []
    for claim in claims.values():
        evidence = deciding.get(claim.slug)
        verdict = _verdict(claim, evidence)
        decisions.append(Decision(claim, verdict, evidence))
        messages += _complaint(claim, verdict, evidence, executions.get(claim.docname))
    for page in pages.values():
        messages += [*page.messages, *_unknown_references(page, claims)]
        messages += _ways_to_pass_silently(page, executions.get(page.docname))
    return Outcome(decisions, messages)


def _unique_claims(pages: Mapping[str, Page]) -> tuple[dict[str, Claim], list[Message]]:
    claims: dict[str, Claim] = {}
    messages = []
    for page in pages.values():
        for claim in page.claims:
            first = claims.setdefault(claim.slug, claim)
            if first is not claim:
                text = (
                    f"claim {claim.slug} must be made once, but {first.docname} makes it too, in "
                    f"line {first.line}; rename or remove one"
                )
                messages.append(Message("duplicate", page.docname, claim.line, text))
    return claims, messages


def _assign(
    docname: str,
    found: Iterable[Evidence],
    claims: Mapping[str, Claim],
    deciding: dict[str, Evidence],
) -> Iterator[Message]:
    """Give each claim the evidence that decides it, and say what decides nothing."""
    for evidence in found:
        slug = evidence.slug
        claim = claims.get(slug)
        subtype = ""
        if claim is None:
            hint = suggestion(close_names(slug, claims))
            subtype = "unknown"
            text = (
                f"evidence must name a claim, but got {slug!r}; {hint}correct the name or add the "
                "claim directive"
            )
        elif claim.docname != docname:
            subtype = "misplaced"
            text = (
                f"claim {slug} must be decided on its own page, {claim.docname}, but got evidence "
                "here; move the cell or the claim"
            )
        elif slug in deciding:
            subtype = "duplicate"
            text = (
                f"claim {slug} must be decided once, but line {deciding[slug].line} decides it "
                "too; put all checks into one block"
            )
        if subtype:
            yield Message(subtype, docname, evidence.line, text)
        else:
            deciding[slug] = evidence


def _verdict(claim: Claim, evidence: Evidence | None) -> Verdict:
    if evidence is not None and evidence.failures:
        return Verdict.REGRESSED
    if claim.recorded:
        return Verdict.RECORDED
    if claim.untestable and evidence is None:
        return Verdict.UNTESTABLE
    if evidence is None or not evidence.checks:
        return Verdict.UNDECIDED
    return Verdict.HOLDS


def _complaint(
    claim: Claim, verdict: Verdict, evidence: Evidence | None, execution: Execution | None
) -> Iterator[Message]:
    subtype = verdict.value
    if claim.untestable and evidence:
        subtype = "malformed"
        text = (
            f"claim {claim.slug} must be decided by a cell or be untestable, but it is both; "
            "remove :untestable: and :reason:"
        )
    elif verdict is Verdict.REGRESSED and evidence:
        text = f"claim {claim.slug} must hold, but {_failures(evidence)}"
    elif verdict is Verdict.UNDECIDED and evidence:
        subtype = "silent-pass"
        text = (
            f"claim {claim.slug} must be decided by at least one check, but its block in line "
            f"{evidence.line} makes none; call check.equal, check.close, check.same, check.holds "
            "or check.raises in it"
        )
    elif verdict is Verdict.UNDECIDED:
        why = _why_undecided(claim.slug, execution)
        text = f"claim {claim.slug} must be decided by a cell, but {why}"
    else:
        return
    yield Message(subtype, claim.docname, claim.line, text)


def _failures(evidence: Evidence) -> str:
    shown = [
        f"line {check.line}: {check.what}: expected {check.expected}, got {check.got}"
        for check in evidence.failures[:LONGEST_LIST]
    ]
    more = len(evidence.failures) - len(shown)
    shown += [f"{more} more"] if more else []
    lines = "".join(f"\n    {line}" for line in shown)
    return (
        f"{len(evidence.failures)} of {len(evidence.checks)} checks failed:{lines}\n"
        "    mend what regressed, or correct the claim"
    )


def _why_undecided(slug: str, execution: Execution | None) -> str:
    if execution is None:
        return "its page has no cells to run; write `file_format: mystnb` into its front matter"
    stops = [fault.line for fault in execution.faults if fault.subtype == "cell-error"]
    if stops:
        return f"the cells of its page stopped in line {stops[0]}; mend that cell first"
    return f'no cell does; write `with claim("{slug}") as check:` in a code cell of its page'


def _unknown_references(page: Page, claims: Mapping[str, Claim]) -> Iterator[Message]:
    for reference in dict.fromkeys(page.references):
        if reference.slug not in claims:
            hint = suggestion(close_names(reference.slug, claims))
            text = (
                f"a mentioned claim must exist, but got {reference.slug!r}; {hint}correct the "
                "name or add the claim"
            )
            yield Message("unknown", page.docname, reference.line, text)


def _ways_to_pass_silently(page: Page, execution: Execution | None) -> Iterator[Message]:
    """Find what would let a claim pass unseen."""
    if execution is None:
        return
    proving: dict[int, list[str]] = defaultdict(list)
    for evidence in execution.evidence:
        proving[evidence.cell].append(evidence.slug)
    for cell in page.cells:
        hidden = [tag for tag in cell.tags if HIDING_TAG.fullmatch(tag)]
        hidden += [name for name in FORBIDDEN_METADATA if name in _overrides(cell.options)]
        if hidden and cell.index in proving:
            text = (
                f"the evidence of claim {', '.join(proving[cell.index])} must be visible, but "
                f"got {hidden[0]!r} on its cell; remove it"
            )
            yield Message("silent-pass", page.docname, cell.line, text)
        if "skip-execution" in cell.tags:
            text = "every cell must run, but got the tag 'skip-execution'; remove the tag"
            yield Message("silent-pass", page.docname, cell.line, text)
    for name in FORBIDDEN_METADATA:
        if name in _overrides(page.notebook.metadata):
            text = (
                "a page must not change how cells are run or shown, but got mystnb: "
                f"{name}; remove it"
            )
            yield Message("silent-pass", page.docname, 1, text)


def _overrides(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of MyST-NB that a page or a cell replaces."""
    found = metadata.get("mystnb")
    return found if isinstance(found, dict) else {}
