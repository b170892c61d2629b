"""The page of `tokamak report`: well-formed, self-contained, complete, and every name in it is text.

With --browser the page and pictures are opened in a browser; the exit code is 77 where there is none.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKAMAK = sys.argv.pop(1)
MLP = ROOT / "examples" / "mlp_streams.fusion"
SECTIONS = ["Overview", "The fusion", "Segments", "Kernels of the processor", "Kernels of a GPU", "The host program",
            "The plan", "Memory over time", "Timeline of a run"]
NAME = "<script>alert(1)</script> & 'quotes' \"twice\" </svg></pre> <!-- ]]>"
HOSTILE = """fusion %s(x: f32[n, m]) -> y {
  y = softmax(mul(x, x), axis=-1)
}
sizes { n = 8, m = 16 }
""" % json.dumps(NAME)
LONG = """fusion %s(%s: f32[%s, m]) -> %s {
  %s = softmax(%s, axis=-1)
}
sizes { %s = 8, m = 16 }
""" % tuple(word * 12 for word in ("fusion_", "input_", "rows_", "output_", "output_", "input_", "rows_"))
HTML = ""  # elements of the page have no namespace, those of pictures have SVG's
SVG = "{http://www.w3.org/2000/svg}"


def report(text_or_path, **environment):
    with tempfile.TemporaryDirectory() as folder:
        file, page = pathlib.Path(folder, "program.fusion"), pathlib.Path(folder, "page.html")
        file.write_text(text_or_path if isinstance(text_or_path, str) else text_or_path.read_text())
        subprocess.run([TOKAMAK, "report", file, "-o", page], check=True, capture_output=True,
                       env={**os.environ, **environment})
        return page.read_text()


def text_of(element):
    return "".join(element.itertext())


class Page(unittest.TestCase):
    def check_self_contained(self, page):
        root = ElementTree.fromstring(page.replace("<!DOCTYPE html>", ""))
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        self.assertEqual(len(ids), len(set(ids)), "an id is given twice")
        for element in root.iter():
            name = element.tag.rpartition("}")[2]
            self.assertNotIn(name, ("script", "link", "img", "image", "iframe", "object", "embed", "foreignObject", "use"))
            for attribute, value in element.attrib.items():
                self.assertFalse(attribute.startswith("on"), f"{name} {attribute}")
                self.assertNotIn(attribute.rpartition("}")[2], ("src", "data", "action"))
                if attribute.endswith("href"):
                    self.assertIn(value.removeprefix("#"), ids)
                for target in re.findall(r"url\((.*?)\)", value):
                    self.assertIn(target.removeprefix("#"), ids)
        for style in root.iter(HTML + "style"):
            self.assertNotRegex(style.text, r"@import|url\(")
        return root

    def test_all_parts_are_there(self):
        root = self.check_self_contained(report(MLP))
        self.assertEqual([text_of(heading) for heading in root.iter("h2")], SECTIONS)
        self.assertEqual([text_of(link) for link in root.iter("a")], SECTIONS)
        titles = [svg.find(SVG + "title").text for svg in root.iter(SVG + "svg")]
        self.assertEqual(titles, [f"{what} of mlp_streams" for what in
                                  ("Data flow", "Segments", "Host program", "Plan", "Memory", "Timeline")])
        listings = {text_of(fold.find("summary")): text_of(fold.find("pre"))
                    for fold in root.iter("details") if fold.find("pre") is not None}
        self.assertIn("fusion mlp_streams(", listings["The text of the fusion"])
        self.assertIn("%HostIrContainer", listings["The text of the host program"])
        self.assertIn("PostOnStream", listings["The segments as text"])
        self.assertIn("wait for event", listings["The plan as text"])
        self.assertIn("schedule {", listings["Schedule"])
        self.assertIn("void ", listings["C source"])
        self.assertIn("__global__", listings["CUDA source"])
        cells = [text_of(cell) for cell in root.iter("td")]
        self.assertIn("linear is a library call, which takes no other ops in", cells)
        self.assertIn("hidden = 256, model = 128, rows = 2048", cells)

    def test_the_timeline_is_of_a_run(self):
        root = self.check_self_contained(report(MLP))
        timeline = [svg for svg in root.iter(SVG + "svg") if svg.find(SVG + "title").text.startswith("Timeline")][0]
        spans = [group.get("data-span") for group in timeline.iter(SVG + "g") if group.get("data-span")]
        self.assertEqual(sum("linear" in name for name in spans), 16)  # two per block of rows

    def test_names_are_text(self):
        page = report(HOSTILE)
        root = self.check_self_contained(page)
        self.assertEqual(text_of(root.find(".//h1")), NAME)
        self.assertNotIn("<script", page)
        self.assertIn(f"Segments of {NAME}", [title.text for title in root.iter(SVG + "title")])

    def test_without_a_compiler(self):
        page = report(MLP, TOKAMAK_CC="/nowhere/cc", TOKAMAK_CACHE_DIR=tempfile.gettempdir() + "/none")
        self.check_self_contained(page)
        self.assertIn("There are none: ", page)


def browser():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


# Writes into the document which texts are drawn outside of the box around them, by the browser's own measures.
MEASURE = """<script>
const faults = [];
let count = 0;
for (const group of document.querySelectorAll('[data-op], [data-tensor-box], [data-step], [data-mark]')) {
  const box = group.querySelector(':scope > rect').getBoundingClientRect();
  for (const text of group.querySelectorAll('text')) {
    const drawn = text.getBoundingClientRect();
    ++count;
    if (drawn.left < box.left - 1 || drawn.right > box.right + 1) faults.push(text.textContent);
  }
}
const result = document.createElement('p');
result.id = 'measured';
const isTooWide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
result.textContent = JSON.stringify({count, faults, isTooWide});
document.body.append(result);
</script>"""


class InBrowser(unittest.TestCase):
    def dump(self, page):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "page.html")
            file.write_text(page)
            command = [browser(), "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                       "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", file.as_uri()]
            return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout

    def test_the_page_opens(self):
        dom = self.dump(report(HOSTILE))
        self.assertEqual(dom.count("<h2 "), len(SECTIONS))
        self.assertEqual(dom.count("<svg "), 6)
        self.assertEqual(dom.count("</main>"), 1)
        self.assertNotIn("<script", dom)
        heading = re.search(r"<h1>(.*?)</h1>", dom)[1]
        self.assertTrue(heading.startswith("&lt;script&gt;alert(1)"), heading)

    def test_texts_are_in_their_boxes(self):
        for page in (report(MLP), report(ROOT / "examples" / "suite" / "layer_norm_bwd.fusion")):
            dom = self.dump(page.replace("</body>", MEASURE + "</body>"))
            measured = json.loads(re.search(r'<p id="measured">(.*?)</p>', dom, re.S)[1].replace("&amp;", "&"))
            self.assertGreater(measured["count"], 60)
            self.assertEqual(measured["faults"], [])

    def test_long_names_do_not_widen_the_page(self):
        dom = self.dump(report(LONG).replace("</body>", MEASURE + "</body>"))
        measured = json.loads(re.search(r'<p id="measured">(.*?)</p>', dom, re.S)[1].replace("&amp;", "&"))
        self.assertEqual((measured["faults"], measured["isTooWide"]), ([], False))


if __name__ == "__main__":
    if "--browser" in sys.argv:
        sys.argv.remove("--browser")
        if browser() is None:
            print("skipped: no chromium is installed")
            sys.exit(77)
        unittest.main(defaultTest="InBrowser")
    unittest.main(defaultTest="Page")
