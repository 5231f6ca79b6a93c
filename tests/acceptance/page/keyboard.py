"""The page by keyboard: each control is reachable, visible when focused, and keeps its focus."""

from tests.acceptance.page.browser import Browser, BrowserError

_FOCUSED = "(document.activeElement.className + '#' + document.activeElement.id)"
_MOST = 60


def require_keyboard(browser: Browser) -> None:
    """The page shows a full quarantine and a history. Raises BrowserError."""
    reached: list[str] = []
    browser.value("document.activeElement.blur(), 0")
    for _ in range(_MOST):
        browser.press("Tab")
        focused = browser.value(_FOCUSED)
        if browser.value("document.activeElement === document.body") and reached:
            break
        if browser.value("getComputedStyle(document.activeElement).outlineStyle") == "none":
            raise BrowserError(f"The focus on {focused} is not visible.")
        reached.append(focused)
    for wanted in ("skip#", "#pause", "copy#", "frame#", "scroll#"):
        if wanted not in reached:
            raise BrowserError(f"The tabulator does not reach {wanted}: {reached}")
    _keeps_focus(browser)
    _reads_a_chart(browser)
    _pauses(browser)


def _keeps_focus(browser: Browser) -> None:
    browser.value("document.querySelector('button.copy').focus(), 0")
    _wait_for_update(browser)
    if browser.value(_FOCUSED) != "copy#":
        raise BrowserError("An update of the page takes the focus away.")
    browser.press("Enter")
    browser.wait_until("document.querySelector('button.copy').textContent !== 'Copy'")
    browser.wait_until("document.getElementById('announcement').textContent.includes('command')")


def _reads_a_chart(browser: Browser) -> None:
    browser.value("document.querySelector('.frame').focus(), 0")
    text = "document.querySelector('.frame').getAttribute('aria-valuetext')"
    before = browser.value(text)
    browser.press("Home")
    browser.wait_until(f"{text} !== {before!r}")
    if browser.value("document.querySelectorAll('.chart')[0].querySelectorAll('path').length") != 2:
        raise BrowserError("The chart has no gap where the agent was down.")
    if browser.value("document.querySelectorAll('#history tbody tr').length") < 23:
        raise BrowserError("The table of the history does not have a row for each hour.")


def _pauses(browser: Browser) -> None:
    browser.value("document.getElementById('pause').focus(), 0")
    browser.press("Enter")
    browser.wait_until("document.getElementById('pause').getAttribute('aria-pressed') === 'true'")
    browser.press("Enter")
    _wait_for_update(browser)


def _wait_for_update(browser: Browser) -> None:
    before = browser.value("document.getElementById('updated').textContent")
    browser.wait_until(f"document.getElementById('updated').textContent !== {before!r}")
