"""Commands about claims: decide one, list, explain and check them, and compare two builds."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from .blocks import cells_up_to, deciding_cells
from .cells import run_chapter
from .changes import changes, load_claims
from .decide import decide
from .errors import ClaimsError, ConfigurationError, UnknownNameError
from .falsify import falsify
from .lint import lint
from .matrix import unkilled
from .model import FINE
from .mutants import applied, load_mutants
from .project import load_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .model import Claim, Decision, Evidence, Message
    from .site import Site


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command in the folder of the project.

    Args:
        arguments: The words of the command line; by default those of this process.

    Returns:
        The exit code: 0 when all is well, 1 when a claim is not, 2 when the question was wrong.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except ClaimsError as error:
        say(f"executable_claims: {error}", sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m executable_claims", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="decide one claim and print its evidence")
    run.add_argument("slug")
    run.add_argument("--mutant", help="apply this deliberately wrong design first")
    run.set_defaults(command=run_command)
    explain = commands.add_parser("explain", help="print what is known of a claim without running")
    explain.add_argument("slug")
    explain.set_defaults(command=explain_command)
    listing = commands.add_parser("list", help="print every claim")
    listing.add_argument("--mutants", action="store_true", help="print every mutant instead")
    listing.set_defaults(command=list_command)
    check = commands.add_parser("check", help="find mistakes without running a cell")
    check.set_defaults(command=check_command)
    falsifying = commands.add_parser("falsify", help="prove that every claim can fail")
    falsifying.add_argument("--all", action="store_true", help="try every claim on every mutant")
    falsifying.set_defaults(command=falsify_command)
    diff = commands.add_parser("diff", help="print what changed between two claims.json")
    diff.add_argument("old", type=Path)
    diff.add_argument("new", type=Path)
    diff.set_defaults(command=diff_command)
    return parser


def say(text: str, to: TextIO | None = None) -> None:
    """Print a line, by default to stdout."""
    (to or sys.stdout).write(f"{text}\n")


def list_command(options: argparse.Namespace) -> int:
    """Print each claim on a line: where, name, kind, sentence; or each mutant."""
    site = load_site(Path.cwd())
    if options.mutants:
        for mutant in load_mutants(site.settings.mutants).values():
            say(f"{mutant.name}: {mutant.summary} ({mutant.source})")
        return 0
    for claim in site.claims.values():
        place = f"{claim.docname}.md:{claim.line}"
        say(f"{place}: {claim.slug} ({claim.kind.value}): {claim.sentence}")
    return 0


def run_command(options: argparse.Namespace) -> int:
    """Decide a claim in this process and print the evidence."""
    site = load_site(Path.cwd())
    claim = find_claim(site, options.slug)
    page = site.pages[claim.docname]
    cells = cells_up_to(page.cells, claim.slug)
    job = replace(site.job(page, "", site.look_around()), cells=cells)
    mutant = options.mutant
    with applied(site.settings.mutants, mutant) if mutant else nullcontext():
        execution = run_chapter(job)
    outcome = decide({page.docname: page}, {page.docname: execution})
    decision = outcome.by_slug[claim.slug]
    say(described(decision))
    for message in outcome.messages:
        # Other claims of the page were not decided here, and nothing is said of them.
        if message.line == claim.line or message.subtype in ("cell-error", "stale"):
            say(located(site, message), sys.stderr)
    return 0 if decision.verdict in FINE else 1


def explain_command(options: argparse.Namespace) -> int:
    """Print what the text says of a claim: where it is, its state, how to run and accept it."""
    site = load_site(Path.cwd())
    claim = find_claim(site, options.slug)
    blocks = [cell.line for cell in deciding_cells(site.pages[claim.docname].cells, claim.slug)]
    state = "proposed"
    if claim.is_accepted:
        state = f"accepted in {claim.accepted}"
    elif claim.accepted:
        state += f" (other words were accepted in {claim.accepted})"
    facts = {
        "sentence": claim.sentence,
        "kind": claim.kind.value,
        "place": f"{claim.docname}.md:{claim.line}",
        "decided in": ", ".join(f"{claim.docname}.md:{line}" for line in blocks) or "no cell",
        "run with": site.settings.command.format(slug=claim.slug),
        "threads": ", ".join(claim.threads) or "none",
        "state": state,
        "to accept": f":accepted: THREAD {claim.sentence_digest}",
    }
    say(claim.slug)
    for name, value in facts.items():
        say(f"  {name + ':':<12} {value}")
    return 0


def check_command(options: argparse.Namespace) -> int:
    """Print every mistake that the text alone shows, as ``file:line: message``."""
    site = load_site(Path.cwd())
    messages = lint(site)
    for message in messages:
        say(located(site, message))
    say(f"{len(site.claims)} claims in {len(site.chapters)} chapters, {len(messages)} mistakes")
    return 1 if messages else 0


def falsify_command(options: argparse.Namespace) -> int:
    """Run claims under mutants, write the record, and print what is not killed."""
    site = load_site(Path.cwd())
    if not site.settings.matrix:
        raise ConfigurationError(
            "claims_matrix must name the file for the record, but it is not set; set it in conf.py"
        )
    matrix = falsify(site, _show_progress, site.matrix, options.all)
    matrix.write(site.root / site.settings.matrix)
    messages = list(unkilled(site, matrix))
    for message in messages:
        say(located(site, message))
    kills = sum(len(matrix.killers(slug)) for slug in matrix.rows)
    say(f"{len(matrix.rows)} claims, {len(matrix.designs)} mutants, {kills} kills")
    return 1 if messages else 0


def _show_progress(done: int, total: int, name: str) -> None:
    """Draw a bar on a terminal, or print a line elsewhere."""
    if sys.stderr.isatty():
        filled = 30 * done // total
        bar = "#" * filled + "." * (30 - filled)
        sys.stderr.write(f"\r\x1b[K[{bar}] {done}/{total} {name}" + "\n" * (done == total))
    else:
        say(f"[{done}/{total}] {name}", sys.stderr)
    sys.stderr.flush()


def diff_command(options: argparse.Namespace) -> int:
    """Print what changed between two builds; the code is 1 when a claim regressed."""
    found = changes(load_claims(options.old), load_claims(options.new))
    for word, sentence in found:
        say(f"{word}: {sentence}")
    if not found:
        say("no claim changed")
    return 1 if any(word == "regressed" for word, _ in found) else 0


def find_claim(site: Site, slug: str) -> Claim:
    """Return the claim called ``slug``.

    Raises:
        UnknownNameError: There is none; the error names those that look like it.
    """
    if slug not in site.claims:
        raise UnknownNameError("a claim", slug, site.claims, "`python -m executable_claims list`")
    return site.claims[slug]


def located(site: Site, message: Message) -> str:
    """Return a message with its place, as compilers and editors write it."""
    return f"{site.place(message)}: {message.text} [claims.{message.subtype}]"


def described(decision: Decision) -> str:
    """Return a claim and its evidence as text."""
    claim = decision.claim
    lines = [f"{claim.slug} ({claim.kind.value}): {decision.verdict.value}", f"  {claim.sentence}"]
    if claim.reason:
        lines.append(f"  since {claim.recorded or claim.untestable}: {claim.reason}")
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
        for name, value in (("expected", check.expected), ("got", check.got)):
            lines.append(f"      {name:<8} {value.strip()}".replace("\n", "\n" + " " * 15))
    return lines
