"""The documentation as Sphinx has built it: its links, its notebook, and every page in a real browser.

scripts/test_site builds it and names the folder in TOKAMAK_SITE.
"""
import contextlib
import functools
import html.parser
import http.server
import os
import pathlib
import re
import sys
import threading
import urllib.parse

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site" / "extensions"))
from browser import Browser, find_browser  # noqa: E402
import language_tabs  # noqa: E402
import op_reference  # noqa: E402
import source_links  # noqa: E402

SITE = pathlib.Path(os.environ["TOKAMAK_SITE"]).resolve()
PAGES = sorted(str(page.relative_to(SITE)) for page in SITE.rglob("*.html") if "_static" not in page.parts)
# Made by Sphinx, with neither a title of its own nor a way to it.
WRITTEN = [page for page in PAGES if page not in ("genindex.html", "py-modindex.html", "search.html")]
PHONE, DESK = 390, 1400
# What stands out of the page on the right, and is in nothing that scrolls.
CUT_OFF = """[...document.querySelectorAll("article *")].filter(each => {
  if (each.getBoundingClientRect().right <= innerWidth + 1) return false
  for (let box = each; box.tagName != "ARTICLE"; box = box.parentElement)
    if (/auto|scroll/.test(getComputedStyle(box).overflowX)) return false
  return true
}).map(each => each.outerHTML.slice(0, 100))"""


class Page(html.parser.HTMLParser):
    """The anchors, links and pictures of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if given.get(name)]


@functools.cache
def page_of(path):
    return Page(path)


# --- what is built ---

def test_there_are_pages():
    assert len(WRITTEN) > 40
    assert "index.html" in PAGES and "site/tour.html" in PAGES


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    lost = []
    for link in page_of(SITE / name).links:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (SITE / name).parent / urllib.parse.unquote(parts.path) if parts.path else SITE / name
        if not target.exists():
            lost.append(link)
        elif parts.fragment and target.suffix == ".html":
            if urllib.parse.unquote(parts.fragment) not in page_of(target.resolve()).anchors:
                lost.append(link)
    assert not lost


def test_nothing_is_loaded_from_elsewhere():
    for name in PAGES:
        text = (SITE / name).read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|link)[^>]+(?:src|href)="https?://', text), name


def test_the_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(ROOT / "docs" / "site" / "tour.ipynb", 4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert "fused" in printed and "schedule {" in printed and "__global__" in printed


def test_the_notebooks_outputs_are_shown():
    text = (SITE / "site" / "tour.html").read_text(encoding="utf-8")
    assert text.count('class="cell_output') > 8
    assert "axis 0 has size 5" in text


def test_every_op_is_described_once():
    described = re.findall(r'<dt class="[^"]*" id="fd\.ops\.(\w+)">',
                           "".join(page.read_text(encoding="utf-8") for page in (SITE / "site" / "ops").glob("*.html")))
    assert sorted(described) == sorted(op_reference.names())


def test_every_function_of_arrays_is_described():
    import tokamak.numpy as tnp

    text = (SITE / "site" / "api" / "numpy.html").read_text(encoding="utf-8")
    functions = [name for name in dir(tnp) if callable(getattr(tnp, name)) and not isinstance(getattr(tnp, name), type)]
    assert len(functions) > 150
    assert [name for name in functions if f'id="tokamak.numpy.{name}"' not in text] == []


def test_programs_in_several_languages_become_tabs():
    text = "a\n\n```python\nx\n```\n\n```text\n1\n```\n\n```fusion f.fusion\ny\n```\n\nb\n"
    tabs = language_tabs.with_tabs(text)
    assert tabs.count(":::{tab-item}") == 2
    assert tabs.index("Python") < tabs.index("x\n") < tabs.index(":class: output") < tabs.index(":caption: f.fusion")
    alone = "```python\nx\n```\nwords\n```cpp\ny\n```\n"
    assert language_tabs.with_tabs(alone) == alone


def test_links_to_what_is_no_page_become_words():
    page = ROOT / "docs" / "page.md"

    def written(text):
        return source_links.without_links_out(text, page, lambda path: path.name == "text.md")

    assert written("see [how](../CONTRIBUTING.md#x) and [texts](text.md)") == \
        "see how (`CONTRIBUTING.md`) and [texts](text.md)"
    assert written("[examples](../examples)") == "examples"
    assert written("[a](../README.md) ![b](x.svg) [c](https://d.e/f.md)") == \
        "a (`README.md`) ![b](x.svg) [c](https://d.e/f.md)"


# --- in a browser ---

class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves the site."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    path = find_browser()
    if path is None:
        pytest.skip("no browser is here: install chromium, or name one in CHROMIUM")
    with contextlib.closing(Browser(path, tmp_path_factory.mktemp("browser"))) as browser:
        yield browser


def keep_picture(browser, name):
    """For people: in the folder TOKAMAK_SITE_PICTURES, if that is set."""
    if folder := os.environ.get("TOKAMAK_SITE_PICTURES"):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(folder) / f"{name.removesuffix('.html').replace('/', '-')}.png").write_bytes(browser.picture())


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_opens(browser, address, name):
    browser.set_width(DESK)
    browser.open(f"{address}/{name}")
    assert browser.complaints == []
    title = browser.evaluate("document.title")
    heading = browser.evaluate("document.querySelector('article h1').firstChild.textContent")
    assert heading.split()[0] in title and "Tokamak" in title
    assert browser.evaluate("[...document.images].filter(each => each.naturalWidth === 0).map(each => each.src)") == []
    assert browser.evaluate(CUT_OFF) == []
    keep_picture(browser, name)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_fits_a_phone(browser, address, name):
    browser.set_width(PHONE)
    browser.open(f"{address}/{name}")
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE
    assert browser.evaluate(CUT_OFF) == []
    keep_picture(browser, f"phone-{name}")


@pytest.mark.parametrize("query, found", [("softmax", "fd.ops.softmax"), ("rfactor", "Writing a schedule"),
                                          ("backend tokamak", "From torch.compile")])
def test_the_search_finds(browser, address, query, found):
    browser.set_width(DESK)
    browser.open(f"{address}/search.html?q={urllib.parse.quote(query)}")
    browser.wait_for("document.querySelectorAll('#search-results ul.search li').length > 0 "
                     "&& !/Searching/.test(document.querySelector('#search-results h2').textContent)")
    assert found in browser.evaluate("document.querySelector('#search-results').textContent")
    assert browser.complaints == []


def test_a_tab_is_chosen(browser, address):
    browser.set_width(DESK)
    browser.open(f"{address}/lessons/1_first_fusion.html")
    shown = "document.querySelector('.sd-tab-set .highlight-fusion').offsetParent !== null"
    assert not browser.evaluate(shown)
    browser.evaluate("[...document.querySelectorAll('.sd-tab-label')]"
                     ".find(each => each.textContent.trim() == 'Text').click()")
    assert browser.evaluate(shown)


def test_what_is_cut_off_is_seen(browser, address):
    browser.set_width(PHONE)
    browser.open(f"{address}/index.html")
    wide = "'beforeend', '<div style=\"%s\"><i style=\"display: block; width: 900px\">x</i></div>'"
    browser.evaluate(f"document.querySelector('article').insertAdjacentHTML({wide % 'overflow-x: auto'})")
    assert browser.evaluate(CUT_OFF) == []
    browser.evaluate(f"document.querySelector('article').insertAdjacentHTML({wide % ''})")
    assert len(browser.evaluate(CUT_OFF)) == 1


def test_dark_and_light(browser, address):
    browser.set_width(DESK)
    browser.open(f"{address}/index.html")
    colours = set()
    for theme in ("light", "dark"):
        browser.evaluate(f"document.body.dataset.theme = '{theme}'")
        colours.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2
