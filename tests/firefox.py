"""Firefox driven by WebDriver BiDi, its own protocol over a WebSocket: no driver is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)


class Page:
    """A tab: addresses are opened and expressions of JavaScript evaluated in it."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._count = 0
        self.events: list[dict[str, Any]] = []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self._tab = self.send("browsingContext.getTree")["contexts"][0]["context"]

    def send(self, method: str, **params: Any) -> Any:
        """Return the result of a command; events that arrive before it are kept."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60.0))
            if answer.get("id") != self._count:
                self.events.append(answer)
            elif answer["type"] == "error":
                raise RuntimeError(f"{method}: {answer['message']}")
            else:
                return answer["result"]

    def open(self, address: str, width: int, height: int) -> None:
        """Open an address in a window of a size [pixel] and wait until it is loaded."""
        size = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self._tab, viewport=size)
        self.send("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression, which must have one in JSON."""
        answer = self.send(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then(JSON.stringify)",
            target={"context": self._tab},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])


@contextmanager
def firefox(folder: Path) -> Iterator[Page]:
    """Start Firefox without a window, with a new profile in a folder; close it at the end."""
    from websockets.sync.client import connect

    assert PROGRAM is not None
    # Software rendering of WebGL, which any machine has.
    (folder / "user.js").write_text('user_pref("webgl.force-enabled", true);\n', encoding="utf-8")
    process = subprocess.Popen(
        [PROGRAM, "--headless", "--profile", str(folder), "--remote-debugging-port", "0"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stderr is not None
        found = (re.search(r"BiDi listening on (ws://\S+)", line) for line in process.stderr)
        address = next(filter(None, found)).group(1)
        with connect(f"{address}/session", max_size=None, open_timeout=60.0) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(30.0)
