"""A headless Chromium, driven by its DevTools protocol over a pair of pipes."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.servers.processes import wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class BrowserError(Exception):
    """The browser does not run, or does not follow a command."""


def find_browser() -> str:
    """The variable CHROMIUM, or the installed browser."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise BrowserError(
            "There is no Chromium: install it (Debian: `apt-get install chromium`), or let the "
            "variable CHROMIUM name it."
        )
    return found


class Browser:
    """One tab. `errors` contains every exception, console error and rejected request since the last
    look."""

    def __init__(self, process: subprocess.Popen[bytes], to_browser: int, from_browser: int):
        self._process = process
        self._to, self._from = to_browser, from_browser
        self._number = 0
        self._unread = b""
        self._session: str | None = None
        self.errors: list[str] = []

    def open(self, url: str) -> None:
        """Load a page in the tab; the first call creates the tab."""
        if self._session is None:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def look(self, width: int, height: int, scheme: str, *, is_phone: bool = False) -> None:
        """Set the size in CSS pixels; `scheme` is light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=is_phone,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def value(self, expression: str) -> Any:
        """Value of a JavaScript expression on the page. Does not need the page's own `eval`."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise BrowserError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait_until(self, expression: str) -> None:
        wait_until(
            lambda: bool(self.value(expression)),
            expression,
            state=lambda: self.value("document.body.innerText"),
        )

    def press(self, key: str) -> None:
        """Press and release a key, by its name in `KeyboardEvent.key`."""
        code = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "Home": 36}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **more,
            )

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            told = self._told()
            if told.get("id") == self._number:
                if "error" in told:
                    raise BrowserError(f"{method}: {told['error']}")
                return dict(told["result"])
            self._note(told)

    def _note(self, told: Mapping[str, Any]) -> None:
        details = told.get("params", {})
        match told.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.errors.append(str(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.errors.append(str(details["entry"]["text"]))

    def _told(self) -> Mapping[str, Any]:
        while b"\0" not in self._unread:
            read = os.read(self._from, 1 << 20)
            if not read:
                raise BrowserError(f"The browser ended with {self._process.wait()}.")
            self._unread += read
        message, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in `profile`. Raises BrowserError."""
    command = [find_browser(), "--headless=new", "--no-sandbox", "--disable-gpu"]
    command += ["--no-first-run", "--hide-scrollbars", "--disable-background-networking"]
    command += [f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
    their_in, to_browser = os.pipe()
    from_browser, their_out = os.pipe()
    # The browser reads from descriptor 3 and writes to 4.
    shell = f'exec "$@" 3<&{their_in} 4>&{their_out}'
    with (profile.parent / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command],
            pass_fds=(their_in, their_out),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    os.close(their_in)
    os.close(their_out)
    try:
        yield Browser(process, to_browser, from_browser)
    finally:
        process.terminate()
        process.wait()
        os.close(to_browser)
        os.close(from_browser)
