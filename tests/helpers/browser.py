# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
"""A headless browser that shows one page: Debian's chromium-headless-shell, controlled by its
DevTools protocol over two pipes. Each message is JSON, ended by a zero byte.
"""

import base64
import json
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import Any

TOP = Path(__file__).resolve().parents[2]
PROGRAM = "chromium-headless-shell"


def install() -> str:
    """The browser's path; set up at first use."""
    if not which(PROGRAM):
        subprocess.run([TOP / "tools/setup", "browser"], check=True)
    found = which(PROGRAM)
    assert found
    return found


class Browser:
    """One window. Network requests of the page fail: the browser has no network."""

    def __init__(self, profile: Path) -> None:
        with ExitStack() as unwind:
            commands, self._in = os.pipe()
            answers_in, answers = os.pipe()
            self._out = os.fdopen(answers_in, "rb")
            options = ["--remote-debugging-pipe", f"--user-data-dir={profile}", "--disable-gpu",
                       "--proxy-server=127.0.0.1:9", "--hide-scrollbars"]  # fmt: skip
            if os.geteuid() == 0:
                options.append("--no-sandbox")
            # The browser reads file descriptor 3 and writes to 4.
            shell = ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash"]
            unwind.callback(os.close, commands)
            unwind.callback(os.close, answers)
            self._process = subprocess.Popen(
                [*shell, install(), *options, "about:blank"], pass_fds=(commands, answers),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self._number = 0
        self._events: list[dict[str, Any]] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_exception: object) -> None:
        # The browser closes its end when it and its children are done with the profile.
        os.close(self._in)
        self._out.read()
        self._out.close()
        self._process.wait(60)

    def _message(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._out.read(1)) != b"\0":
            assert byte, "the browser ended"
            data += byte
        return json.loads(data)

    def _call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._events.append(answer)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """A command to the page, and its result."""
        return self._call(method, self._session, **params)

    def show(self, page: Path, width: int, scheme: str) -> None:
        """Load a file in a window of that width, light or dark."""
        self._events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])
        self.call("Page.navigate", url=page.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            self._events.append(self._message())

    def requests(self) -> list[str]:
        """Requests of the page that is shown."""
        sent = [e for e in self._events if e.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def complaints(self) -> list[str]:
        """The browser's complaints about the page."""
        said = [e["params"]["entry"] for e in self._events if e.get("method") == "Log.entryAdded"]
        return [entry["text"] for entry in said]

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, target: Path) -> None:
        """The whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", format="png", clip=clip,
                         captureBeyondViewport=True)  # fmt: skip
        target.write_bytes(base64.b64decode(shot["data"]))
