"""Opens a page in a headless Chromium, uses it as a person would, and prints what is then shown.

Reads one JSON object from stdin: browser, url, width, height, dark, script (whether scripts run), steps, screenshot
(a path, or null). A step is one of

    {"fill": [selector, text]}        types into a field
    {"click": selector}               clicks what leads to another page, and waits for that
    {"tap": selector}                 clicks what stays on the page
    {"press": key}                    presses a key
    {"goto": url}                     opens another page
    {"send": [url, method, body]}     sends JSON to the server from here, as another program would
    {"post": [url, body]}             sends a form to the server from here, as a page of another origin would
    {"see": [selector, text]}         waits until an element shows the text
    {"is": script}                    fails unless the script's value is true
    {"shot": path}                    keeps a picture of the page

Prints one JSON object: html, url, status, width (of the widest page), requests (URLs), statuses (of all pages), and
problems (what the browser logs, such as a violation of the page's policy). The browser is driven over its debugging
pipe, so that no port is open.
"""

import base64
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import urllib.request


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


KEYS = {"Enter": 13, "Escape": 27}


def press(browser, key):
    text = "\r" if key == "Enter" else key if len(key) == 1 else ""
    code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                     windowsVirtualKeyCode=code)


def evaluate(browser, script):
    answer = browser.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
    if "exceptionDetails" in answer:
        raise SystemExit(f"{script}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
    return answer["result"].get("value")


def see(browser, selector, text):
    """Waits for a change of the page that shows the text; half a minute at most."""
    wanted = json.dumps([selector, text])
    script = """new Promise((found, lost) => {
        const [selector, text] = %s;
        const shown = () => [...document.querySelectorAll(selector)].some((one) => one.textContent.includes(text));
        const check = () => shown() && (watcher.disconnect(), clearTimeout(late), found(true));
        const watcher = new MutationObserver(check);
        const late = setTimeout(() => lost(new Error(selector + " never shows " + text + ": " +
            document.querySelector(selector)?.textContent)), 30000);
        watcher.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        check();
    })""" % wanted
    evaluate(browser, script)


def send(url, method, body, headers):
    request = urllib.request.Request(url, method=method, data=body.encode(), headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code


def shot(browser, path):
    data = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
    with open(path, "wb") as file:
        file.write(base64.b64decode(data))


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
    for domain in ("Page", "DOM", "Log", "Network", "Runtime"):
        browser.call(domain + ".enable")
    scheme = "dark" if asked["dark"] else "light"
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Emulation.setDeviceMetricsOverride", width=asked["width"], height=asked["height"],
                 deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=not asked["script"])
    browser.events.clear()
    seen, widths, sent = [], [], []

    def visit(go):
        seen.extend(browser.events)
        browser.events = []
        go()
        browser.wait("Page.loadEventFired")

    def measure():
        widths.append(browser.call("Page.getLayoutMetrics")["cssContentSize"]["width"])

    visit(lambda: browser.call("Page.navigate", url=asked["url"]))
    for step in asked["steps"]:
        (kind, given), = step.items()
        if kind == "fill":
            fill(browser, *given)
        elif kind == "click":
            measure()
            visit(lambda: click(browser, given))
        elif kind == "tap":
            click(browser, given)
        elif kind == "press":
            press(browser, given)
        elif kind == "goto":
            measure()
            visit(lambda: browser.call("Page.navigate", url=given))
        elif kind == "send":
            url, method, body = given
            sent.append(send(url, method, body, {"content-type": "application/json"}))
        elif kind == "post":
            url, body = given
            headers = {"content-type": "application/x-www-form-urlencoded", "origin": "http://evil.example"}
            sent.append(send(url, "POST", body, headers))
        elif kind == "see":
            see(browser, *given)
        elif kind == "is":
            if evaluate(browser, given) is not True:
                raise SystemExit(f"it is not so: {given}")
        elif kind == "shot":
            shot(browser, given)
        else:
            raise SystemExit(f"unknown step {kind}")
    root = browser.call("DOM.getDocument")["root"]
    html = browser.call("DOM.getOuterHTML", nodeId=root["nodeId"])["outerHTML"]
    measure()
    if asked["screenshot"]:
        shot(browser, asked["screenshot"])
    seen += browser.events
    by = lambda method: [event["params"] for event in seen if event.get("method") == method]
    documents = [one["response"]["status"] for one in by("Network.responseReceived") if one["type"] == "Document"]
    logged = [" ".join(str(one.get("value", one.get("description"))) for one in entry["args"])
              for entry in by("Runtime.consoleAPICalled")]
    thrown = [one["exceptionDetails"].get("exception", {}).get("description", one["exceptionDetails"]["text"])
              for one in by("Runtime.exceptionThrown")]
    return {
        "html": html,
        "url": root["documentURL"],
        "status": documents[-1],
        "statuses": documents,
        "sent": sent,
        "width": max(widths),
        "requests": [one["request"]["url"] for one in by("Network.requestWillBeSent")],
        "problems": [one["entry"]["text"] for one in by("Log.entryAdded")] + logged + thrown,
    }


main()
