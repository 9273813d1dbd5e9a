"""Commands about claims: run one, list them, explain one, check them, compare two builds."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .cells import run_chapter
from .decide import Outcome, decide
from .errors import ClaimsError, UnknownNameError
from .falsify import applied
from .model import Verdict
from .project import load_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Cell, Claim, Decision, Evidence
    from .site import Site


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code: 0 when all is well, 1 when a claim is not, 2 when the question was wrong.
    """
    options = _parser().parse_args(arguments)
    try:
        site = load_site(Path.cwd())
        code: int = options.command(site, options)
    except ClaimsError as error:
        say(f"executable_claims: {error}", sys.stderr)
        return 2
    return code


def say(text: str, to: TextIO | None = None) -> None:
    """Print a line, by default to stdout."""
    (to or sys.stdout).write(f"{text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="executable_claims", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="decide one claim and print its evidence")
    run.add_argument("slug")
    run.add_argument("--mutant", help="apply this deliberately wrong design first")
    run.set_defaults(command=run_command)
    listing = commands.add_parser("list", help="print every claim")
    listing.set_defaults(command=list_command)
    return parser


def list_command(site: Site, options: argparse.Namespace) -> int:
    """Print each claim on a line: where, name, kind, sentence."""
    for claim in _claims(site).values():
        place = f"{claim.docname}.md:{claim.line}"
        say(f"{place}: {claim.slug} ({claim.kind.value}): {claim.sentence}")
    return 0


def run_command(site: Site, options: argparse.Namespace) -> int:
    """Decide a claim in this process and print the evidence."""
    claim = find_claim(site, options.slug)
    page = site.pages[claim.docname]
    cells = cells_up_to(page.cells, claim.slug)
    job = replace(site.job(page, "", site.look_around()), cells=cells)
    mutant = {"location": site.settings.mutants, "name": options.mutant} if options.mutant else None
    with applied(mutant):
        execution = run_chapter(job)
    outcome = decide({page.docname: page}, {page.docname: execution})
    decision = outcome.by_slug[claim.slug]
    say(described(decision))
    _print_faults(outcome, claim)
    return 0 if decision.verdict in (Verdict.HOLDS, Verdict.RECORDED) else 1


def find_claim(site: Site, slug: str) -> Claim:
    """Return the claim called ``slug``.

    Raises:
        UnknownNameError: There is none; the error names those that look like it.
    """
    claims = _claims(site)
    if slug not in claims:
        raise UnknownNameError("a claim", slug, claims, "`python -m executable_claims list`")
    return claims[slug]


def cells_up_to(cells: Sequence[Cell], slug: str) -> tuple[Cell, ...]:
    """Return the cells that deciding a claim takes: all until the last that mentions its block."""
    block = re.compile(rf"""claim\(\s*["']{re.escape(slug)}["']""")
    deciding = [index for index, cell in enumerate(cells) if block.search(cell.source)]
    return tuple(cells[: deciding[-1] + 1] if deciding else cells)


def described(decision: Decision) -> str:
    """Return a claim and its evidence as text."""
    claim = decision.claim
    lines = [f"{claim.slug} ({claim.kind.value}): {decision.verdict.value}", f"  {claim.sentence}"]
    if claim.recorded:
        lines.append(f"  recorded {claim.recorded}: {claim.reason}")
    if decision.evidence:
        lines += _evidence_lines(decision.evidence)
    return "\n".join(lines)


def _evidence_lines(evidence: Evidence) -> list[str]:
    lines = [f"  {len(evidence.checks)} checks in {evidence.seconds:.2f} s"]
    for row in evidence.rows:
        state = row.difference or "same"
        lines.append(f"    {row.what}: eager {row.eager} | static {row.static} | {state}")
    for check in evidence.checks:
        state = "passed" if check.passed else "FAILED"
        lines.append(f"    line {check.line}: {state}: {check.what}")
        lines.append(f"      expected {check.expected}")
        lines.append(f"      got      {check.got}")
    return lines


def _print_faults(outcome: Outcome, claim: Claim) -> None:
    """Print what is wrong with the claim's own cells; other claims of the page may not have run."""
    for message in outcome.messages:
        about_claim = message.line == claim.line or message.subtype == "cell-error"
        if about_claim:
            place = f"{message.docname}.md:{message.line}"
            say(f"{place}: {message.text} [claims.{message.subtype}]", sys.stderr)


def _claims(site: Site) -> dict[str, Claim]:
    claims: dict[str, Claim] = {}
    for page in site.pages.values():
        for claim in page.claims:
            claims.setdefault(claim.slug, claim)
    return claims
