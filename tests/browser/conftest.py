"""The built site, served to a real browser."""

from __future__ import annotations

import functools
import http.server
import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .chromium import NAMES, find, opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .chromium import Page

ROOT = Path(__file__).parent.parent.parent


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="session")
def html() -> Path:
    """Return the folder of the built site."""
    folder = Path(os.environ.get("SITE", ROOT / "_build/html"))
    if not (folder / "claims.json").is_file():
        pytest.exit(f"the site must be built, but {folder} has no claims.json; run `make html`", 2)
    return folder


@pytest.fixture(scope="session")
def claims(html: Path) -> list[dict[str, Any]]:
    """Return the claims of the built site, from its data file."""
    data = json.loads((html / "claims.json").read_text(encoding="utf-8"))
    return list(data["claims"])


@pytest.fixture(scope="session")
def origin(html: Path) -> Iterator[str]:
    """Serve the site, and return the beginning of every address on it."""
    handler = functools.partial(_Quiet, directory=str(html))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return a tab of a headless browser."""
    browser = find()
    if browser is None:
        pytest.exit(
            f"a browser must be installed, but none of {', '.join(NAMES)} was found; install one, "
            "on Debian with `apt install chromium`",
            2,
        )
    with opened(browser, tmp_path_factory.mktemp("profile")) as tab:
        yield tab
