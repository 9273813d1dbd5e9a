"""Drive an installed Chromium through its debugging protocol: as little as these tests need."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from websockets.sync.connection import Connection

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60  # seconds for one answer


def find() -> str | None:
    """Return the path of an installed browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def opened(browser: str, profile: Path) -> Iterator[Page]:
    """Start a headless browser and give a tab of it.

    Args:
        browser: Path of the program.
        profile: An empty folder for what it keeps.
    """
    # Without the sandbox, since tests may run as root in a container.
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    places = ["--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    command = [browser, *options, *places]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            with connect(_address(process), max_size=None) as socket:
                yield Page(socket)
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    """Wait for the address of the debugging port, which the browser writes to stderr."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        found = re.search(r"DevTools listening on (ws://\S+)", line)
        if found:
            return found[1]
    raise RuntimeError(f"the browser must open its debugging port, but said: {''.join(said)}")


class Page:
    """A tab of a browser.

    Attributes:
        requested: The address of every request since the last page was opened.
        problems: What the console showed of errors since then.
    """

    def __init__(self, socket: Connection) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._session: dict[str, str] = {}
        self.requested: list[str] = []
        self.problems: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, address: str, width: int = 1280, scheme: str = "light") -> None:
        """Open a page and wait until all of it is loaded.

        Args:
            address: Its address.
            width: Width of the window in pixels.
            scheme: The reader's preference, "light" or "dark".
        """
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=features)
        # A page is not loaded when only the part after the # changes.
        self._call("Page.navigate", url="about:blank")
        self.requested.clear()
        self.problems.clear()
        self._call("Page.navigate", url=address)
        while self.run("[location.href, document.readyState]") != [address, "complete"]:
            pass

    def run(self, script: str) -> Any:
        """Return the JSON value of a JavaScript expression; a promise is waited for."""
        answer = self._call(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def allow(self, *permissions: str) -> None:
        """Grant all pages what a reader would be asked for."""
        self._call("Browser.grantPermissions", permissions=list(permissions))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        request = {"id": number, "method": method, "params": parameters, **self._session}
        self._socket.send(json.dumps(request))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Network.requestWillBeSent":
            self.requested.append(event["params"]["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(event["params"]["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            if entry["level"] == "error":
                self.problems.append(f"{entry['text']} {entry.get('url', '')}")
