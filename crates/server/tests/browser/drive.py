"""Opens a page in a headless Chromium, uses it as a person would, and prints what is then shown.

Reads one JSON object from stdin: browser, url, width, height, dark, script (whether scripts run), steps (a list
of {"fill": [selector, text]} and {"click": selector}), screenshot (a path, or null). Prints one JSON object: html,
url, status, title, width (of the content), requests (URLs), and problems (what the browser logs, such as a
violation of the page's policy). The browser is driven over its debugging pipe, so that no port is open.
"""

import base64
import fcntl
import json
import os
import subprocess
import sys
import tempfile


class Browser:
    def __init__(self, browser, profile):
        command_read, self.commands = map(above_four, os.pipe())
        self.answers, answer_write = map(above_four, os.pipe())

        def on_three_and_four():
            os.dup2(command_read, 3)
            os.dup2(answer_write, 4)

        flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync",
                 "--hide-scrollbars", "--force-color-profile=srgb", "--user-data-dir=" + profile, "about:blank"]
        self.process = subprocess.Popen([browser, *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, pass_fds=(3, 4), preexec_fn=on_three_and_four)
        os.close(command_read)
        os.close(answer_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise SystemExit("the browser has ended")
            self.buffer += more
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        for at, event in enumerate(self.events):
            if event.get("method") == method:
                return self.events.pop(at)
        while True:
            event = self.read()
            if event.get("method") == method:
                return event
            self.events.append(event)


def above_four(fd):
    """The same end under another number: 3 and 4 are those that the browser reads and writes."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


def centre(browser, selector):
    root = browser.call("DOM.getDocument")["root"]["nodeId"]
    node = browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
    if not node:
        raise SystemExit(f"the page has no {selector}")
    browser.call("DOM.scrollIntoViewIfNeeded", nodeId=node)
    box = browser.call("DOM.getBoxModel", nodeId=node)["model"]["border"]
    return node, sum(box[0::2]) / 4, sum(box[1::2]) / 4


def click(browser, selector):
    _, x, y = centre(browser, selector)
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)


def fill(browser, selector, text):
    node, _, _ = centre(browser, selector)
    browser.call("DOM.focus", nodeId=node)
    browser.call("Input.insertText", text=text)


def main():
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(asked["browser"], profile)
        try:
            print(json.dumps(drive(browser, asked)))
        finally:
            browser.process.kill()
            browser.process.wait()


def drive(browser, asked):
    page = browser.call("Target.createTarget", url="about:blank")["targetId"]
    browser.session = browser.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
    for domain in ("Page", "DOM", "Log", "Network"):
        browser.call(domain + ".enable")
    scheme = "dark" if asked["dark"] else "light"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setDeviceMetricsOverride", width=asked["width"], height=asked["height"],
                 deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=not asked["script"])
    browser.events.clear()
    browser.call("Page.navigate", url=asked["url"])
    browser.wait("Page.loadEventFired")
    seen = []
    for step in asked["steps"]:
        if "fill" in step:
            fill(browser, *step["fill"])
        else:
            seen += browser.events
            browser.events = []
            click(browser, step["click"])
            browser.wait("Page.loadEventFired")
    root = browser.call("DOM.getDocument")["root"]
    html = browser.call("DOM.getOuterHTML", nodeId=root["nodeId"])["outerHTML"]
    metrics = browser.call("Page.getLayoutMetrics")["cssContentSize"]
    if asked["screenshot"]:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        with open(asked["screenshot"], "wb") as file:
            file.write(base64.b64decode(shot))
    seen += browser.events
    by = lambda method: [event["params"] for event in seen if event.get("method") == method]
    documents = [one["response"]["status"] for one in by("Network.responseReceived") if one["type"] == "Document"]
    return {
        "html": html,
        "url": root["documentURL"],
        "status": documents[-1],
        "width": metrics["width"],
        "requests": [one["request"]["url"] for one in by("Network.requestWillBeSent")],
        "problems": [one["entry"]["text"] for one in by("Log.entryAdded")],
    }


main()
