"""Take the pictures of docs/images again: pages of the sample projects, as a browser shows them."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

CHROMIUM = "/usr/bin/chromium"
IMAGES = Path(__file__).parent.parent / "docs" / "images"
WIDTH = 1120


def main() -> None:
    """Run the tour, and take pictures of the page of the version that got worse."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tool:
        subprocess.run([Path(sys.executable).parent / "cortex", "demo"], cwd=folder, check=True)  # noqa: S603  # ours
        page_file = max(Path(folder).glob("cortex-demo/bioagent/reports/evaluation/report_*.html"))
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, scheme in (("report", "light"), ("report-dark", "dark")):
            take(browser, page_file.as_uri(), name, scheme=scheme, height=1290)
        take(browser, f"{page_file.as_uri()}#state=failed", "report-cases", part="#cases", height=820)
        browser.close()


def take(browser: Browser, address: str, name: str, *, height: int, scheme: str = "light", part: str = "body") -> None:
    """One picture, from the top of a part of the page downwards."""
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]  # one of its Literals
    page.goto(address)
    place = page.locator(part).bounding_box()
    assert place is not None
    clip = {"x": 0, "y": max(0, place["y"] - 16), "width": WIDTH, "height": height}
    page.screenshot(path=IMAGES / f"{name}.png", full_page=True, clip=clip)  # type: ignore[arg-type]  # a TypedDict of floats
    page.close()


if __name__ == "__main__":
    main()
