"""A real browser without a window: Chromium, told what to do through a pair of pipes by its DevTools protocol."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 60


class BrowserError(RuntimeError):
    """The browser ends, refuses a command or does not answer."""


def _starts(path):
    """What Ubuntu has under these names is a script that asks for another package."""
    done = subprocess.run([path, "--version"], capture_output=True, check=False, timeout=SECONDS)
    return done.returncode == 0


def find_browser():
    """The path of a browser that starts, or None. $CHROMIUM names one."""
    for name in filter(None, (os.environ.get("CHROMIUM"), *NAMES)):
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return None


def _pipe():
    """The ends of a pipe, with numbers above those that the browser takes."""
    ends = os.pipe()
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return above


class Browser:
    """One page of a browser. Not for several threads."""

    def __init__(self, path, folder):
        commands, self._commands = _pipe()
        self._answers, answers = _pipe()
        # The browser reads commands from file 3 and writes answers to file 4.
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", path, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={folder}"],
            pass_fds=(commands, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._begun = b""
        self._count = 0
        self._session = None
        self.complaints = []  # what pages wrote into the console as errors, and what could not be loaded
        self._has_loaded = False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def close(self):
        """Ends the browser."""
        os.close(self._commands)
        self._process.terminate()
        self._process.wait(timeout=SECONDS)
        os.close(self._answers)

    def set_width(self, width, height=900):
        """How many CSS pixels the page has from now on."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=width < 600)

    def open(self, url):
        """Loads a page, with all that belongs to it."""
        self.complaints.clear()
        self._has_loaded = False
        answer = self._call("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        while not self._has_loaded:
            self._note(self._next())

    def evaluate(self, expression):
        """The value of an expression of JavaScript in the page, as JSON can tell it; promises are waited for."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Waits until an expression is true in the page."""
        until = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise BrowserError(f"waited {SECONDS} s for {expression}")
            time.sleep(0.05)

    def picture(self):
        """What the page looks like, as a PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data):]
        while True:
            answer = self._next()
            if answer.get("id") != self._count:
                self._note(answer)
                continue
            if "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            return answer["result"]

    def _next(self):
        """The next message: an answer or an event."""
        while b"\0" not in self._begun:
            if not select.select([self._answers], [], [], SECONDS)[0]:
                raise BrowserError(f"the browser says nothing for {SECONDS} s")
            data = os.read(self._answers, 1 << 16)
            if not data:
                raise BrowserError(f"the browser has ended with exit code {self._process.wait()}")
            self._begun += data
        message, _, self._begun = self._begun.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, told = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._has_loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {told['exceptionDetails']['text']}")
        elif method == "Runtime.consoleAPICalled" and told["type"] == "error":
            self.complaints.append(f"console: {[each.get('value') for each in told['args']]}")
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif method == "Network.loadingFailed" and not told.get("canceled"):
            self.complaints.append(f"not loaded: {told['errorText']}")
