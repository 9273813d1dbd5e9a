"""What happens at each stage of a Sphinx build."""

from __future__ import annotations

import json
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ConfigError, ExtensionError
from sphinx.util import logging

from .digest import digest, file_digest
from .directives import ClaimDomain, claim_domain
from .discuss import Desk
from .errors import ClaimsError, ConfigurationError, UnreadableFileError
from .matrix import rebuilt, reworked
from .report import outcome_json
from .settings import Settings
from .site import Site
from .store import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from myst_parser.config.main import MdParserConfig
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

LOGGER = logging.getLogger(__name__)
UNFINISHED = "claims-unfinished"
"""Name of the file that marks a build as begun and not yet ended well."""


STATIC = Path(__file__).parent / "static"


def add_settings(app: Sphinx) -> None:
    """Declare the settings; a page is written anew when one changes what it shows."""
    for field in fields(Settings):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        app.add_config_value(
            f"claims_{field.name}", default, "html", frozenset({list, tuple, str, int, float})
        )


def check_configuration(app: Sphinx, config: Config) -> None:
    """Refuse settings that can't be right, before anything is run."""
    try:
        site = Site(Path(app.srcdir), settings(app))
        _ = site.threads, site.matrix  # read here, so that a mistake in them ends the build early
    except (ConfigurationError, UnreadableFileError) as error:
        raise ConfigError(str(error)) from error
    if config.nb_execution_mode != "off":
        raise ConfigError(
            "nb_execution_mode must be 'off', since executable_claims runs the cells, but got "
            f"{config.nb_execution_mode!r}; write nb_execution_mode = 'off' in conf.py"
        )
    for name in ("nb_remove_code_source", "nb_remove_code_outputs"):
        if config[name]:
            raise ConfigError(
                f"{name} must be False, since the evidence of claims must be visible, but got "
                f"{config[name]!r}; remove it from conf.py"
            )


def settings(app: Sphinx) -> Settings:
    """Return the checked settings of a build."""
    names = [f"claims_{field.name}" for field in fields(Settings)]
    return Settings.from_values({name: app.config[name] for name in names}, Path(app.srcdir))


def note_unfinished(app: Sphinx) -> None:
    """Mark the build as begun, and remember whether the one before it ended well."""
    app.config.html_static_path = [*app.config.html_static_path, str(STATIC)]
    marker = Path(app.doctreedir) / UNFINISHED
    claim_domain(app.env).read_all = marker.exists()
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()


def note_finished(app: Sphinx, exception: Exception | None) -> None:
    """Take the mark away when all is well.

    Sphinx warns about a page only when it reads or writes it. After a build that warned, failed or
    was killed, the next one therefore does all pages again: what was red must not turn green by
    being run again.
    """
    if exception is None and not app.statuscode and not app._warncount:
        (Path(app.doctreedir) / UNFINISHED).unlink(missing_ok=True)


def run_chapters(
    app: Sphinx,
    env: BuildEnvironment,
    added: AbstractSet[str],
    changed: AbstractSet[str],
    removed: AbstractSet[str],
) -> Iterable[str]:
    """Run the chapters that are stale, and name the pages to read anew because of it."""
    domain = claim_domain(env)
    domain.site = site = Site(Path(app.srcdir), settings(app))
    domain.desk = desk(app, site)
    paths = {name: Path(env.doc2path(name)) for name in env.found_docs}
    site.read(paths, markdown_config(env))
    try:
        site.refresh(lambda docname: LOGGER.info("ran the cells of %s", docname))
    except ClaimsError as error:
        raise ExtensionError(str(error)) from error
    hand_to_myst_nb(env, site)
    now, before = site.identities(), domain.data["read"]
    domain.data["read"] = now
    if domain.read_all:
        return env.found_docs
    return {docname for docname in now if now[docname] != before.get(docname)}


def desk(app: Sphinx, site: Site) -> Desk:
    """Return what makes the links of this build."""
    chosen = site.settings
    return Desk(
        repository=chosen.repository,
        command=chosen.command,
        commit=commit(site.root),
        base=app.config.html_baseurl,
        address=app.builder.get_target_uri if app.builder.format == "html" else str,
        threads=site.threads,
    )


def markdown_config(env: Any) -> MdParserConfig:
    """Return how MyST reads Markdown in this build; it keeps that on the environment."""
    config: MdParserConfig = env.myst_config
    return config


def hand_to_myst_nb(env: Any, site: Site) -> None:
    """Let MyST-NB, which keeps its settings on the environment, read each chapter as executed."""
    formats = dict(env.mystnb_config.custom_formats)
    for docname, page in site.chapters.items():
        arguments = {
            "path": str(page.path),
            "result": str(site.result(docname)),
            "config": markdown_config(env),
        }
        formats[str(page.path)] = ("executable_claims.reader.read_executed", arguments, False)
    env.mystnb_config = env.mystnb_config.copy(custom_formats=formats)


def judge(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Give all verdicts, report all that is wrong, and fail the build if anything is."""
    domain = claim_domain(env)
    site = domain.site
    site.arrange(reading_order(env, app.config.root_doc))
    outcome = site.judge()
    for message in outcome.messages:
        LOGGER.warning(
            message.text,
            type="claims",
            subtype=message.subtype,
            location=str(site.root / site.place(message)),
        )
    if outcome.messages:
        # Warnings fail a build only under -W, and only where they are not suppressed.
        app.statuscode = 1
    return sorted(pages_to_write(domain))


def pages_to_write(domain: ClaimDomain) -> set[str]:
    """Return the pages that show or link to something on other pages that has changed."""
    site, kept, titles = domain.site, domain.data, domain.env.titles
    places = {slug: claim.docname for slug, claim in site.claims.items()}
    moved = {slug for slug, docname in kept["places"].items() if places.get(slug) != docname}
    matrix: list[Any] = []
    if site.matrix:
        record = file_digest(site.root / site.settings.matrix)
        matrix = [record, reworked(site, site.matrix), rebuilt(site, site.matrix)]
    claims = [
        [claim.slug, claim.kind.value, claim.sentence, titles[claim.docname].astext(), verdict]
        for claim, verdict in ((d.claim, d.verdict.value) for d in site.outcome.decisions)
    ]
    shown = digest([claims, places, matrix])
    pages = {name for name, page in site.pages.items() for r in page.references if r.slug in moved}
    if shown != kept["shown"]:
        pages |= domain.indexes
    # The links of a page name the commit and what is known of the threads.
    linked = digest([domain.desk.commit, vars(site.threads)])
    if linked != kept["linked"]:
        pages |= domain.indexes | site.chapters.keys() | {c.docname for c in site.claims.values()}
    kept.update(places=places, shown=shown, linked=linked)
    return pages


def reading_order(env: BuildEnvironment, docname: str) -> list[str]:
    """Return a page and those below it, in the order in which a reader turns them."""
    order = [docname]
    for child in env.toctree_includes.get(docname, ()):
        order += [name for name in reading_order(env, child) if name not in order]
    return order


def data(app: Sphinx) -> dict[str, Any]:
    """Return the verdicts of a build as JSON values."""
    domain = claim_domain(app.env)
    versions: dict[str, str] = {}
    for execution in domain.site.executions.values():
        versions.update(execution.versions)
    return outcome_json(domain.site.outcome, app.config.project, versions, domain.desk)


def commit(root: Path) -> str:
    """Return the commit of the sources, or nothing when they are not in a Git repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
        )
    except OSError:  # no git on this machine
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Write ``claims.json`` beside the pages."""
    if exception is None and app.builder.format == "html":
        text = json.dumps(data(app), indent=1, ensure_ascii=False)
        write_atomically(Path(app.outdir) / "claims.json", text + "\n")
        for name in ("claims.schema.json",):
            source = Path(__file__).parent / "schema" / name
            write_atomically(Path(app.outdir) / name, source.read_text(encoding="utf-8"))


def add_assets(app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any) -> None:
    """Add style and script to the pages that show claims."""
    if doctree is not None:
        app.add_css_file("claims.css")
        app.add_js_file("claims.js", loading_method="defer")
