"""Pictures of all examples: well-formed, complete, the same every time, and nothing in them lies on anything else."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import svg_geometry

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKAMAK = sys.argv.pop(1)
EXAMPLES = sorted(file for folder in (".", "suite", "streams", "lessons") for file in (ROOT / "examples" / folder).glob("*.fusion"))
WHAT = ("fusion", "segments", "host", "plan", "memory")

LONG = """fusion "<script>alert(1)</script> & 'quotes' \\"twice\\""(
    {x}: f32[number_of_tokens_in_the_batch, size_of_the_hidden_dimension_of_the_model], s: f32) -> {y} {{
  squares = mul({x}, {x})
  mean_of_squares_of_the_hidden_states = mean(squares, axes=[1], keepdim=true)
  {y} = mul(mul({x}, rsqrt(add(mean_of_squares_of_the_hidden_states, 1e-5))), s)
}}
sizes {{ number_of_tokens_in_the_batch = 8, size_of_the_hidden_dimension_of_the_model = 16 }}
""".format(x="the_hidden_states_" * 6 + "x", y="normalised_" * 20 + "y")

MANY = """fusion many_segments(x: f32[n, m], w: f32[m, m], b: f32[m]) -> (y, z) {
  a = softmax(x, axis=-1)
  e = gelu(add(matmul(a, w), b))
  g = sum(mul(e, e), axes=[1])
  k = softmax(matmul(e, w), axis=0)
  y = add(k, sum(e, axes=[0]))
  z = div(y, sum(g, axes=[0]))
}
sizes { n = 64, m = 32 }
"""


def wide_fusion():
    """80 sums; each is read by the next one and by one some way on, and inputs by many."""
    lines = ["  v0 = exp(x0)"]
    for i in range(1, 81):
        other = f"x{i % 6}" if i % 3 == 0 or i < 9 else f"v{i - 2 - i % 7}"
        lines.append(f"  v{i} = add(v{i - 1}, {other})")
    inputs = ", ".join(f"x{i}: f32[n]" for i in range(6))
    return f"fusion wide({inputs}) -> v80 {{\n" + "\n".join(lines) + "\n}\nsizes { n = 8 }\n"


def tokamak(*arguments):
    return subprocess.run([TOKAMAK, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def tensors_of(text):
    """Names in the canonical text of a fusion."""
    head, _, body = text.partition(") -> ")
    names = re.findall(r"[(,]\s*(\w+): \w+\[", head)
    for line in body.splitlines()[1:]:
        if line.startswith("}"):
            break
        results = line.partition(" = ")[0]
        names += re.findall(r"(\w+): \w+\[", results)
    return names


class Pictures(unittest.TestCase):
    def draw(self, file, *what):
        """Texts of the pictures, by name, made twice and equal."""
        texts = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                options = [option for name in what for option in ("--svg", f"{name}={folder}/{name}.svg")]
                tokamak("draw", file, *options)
                texts.append({name: pathlib.Path(folder, name + ".svg").read_text() for name in what})
        self.assertEqual(texts[0], texts[1], f"{file} is not drawn the same twice")
        return texts[0]

    def check(self, file):
        pictures = {name: svg_geometry.Picture(text) for name, text in self.draw(file, *WHAT).items()}
        for name, picture in pictures.items():
            self.assertEqual(list(picture.faults())[:5], [], f"{name} of {file}")
        written = tensors_of(tokamak("opt", file))
        self.assertEqual(sorted(pictures["fusion"].tensors), sorted(set(written)), file)
        segments = pictures["segments"]
        once = list(segments.tensors)
        for name in segments.repeated:
            once.remove(name)
        self.assertEqual(sorted(once), sorted(set(segments.tensors)), file)
        numbers = segments.names("data-segment")
        self.assertEqual(numbers, [str(i) for i in range(len(numbers))], file)
        self.assertIn(f"{len(numbers)} segment", " ".join(text.name for text, _ in segments.texts))
        self.assertEqual([name for name in written[:1] if name not in segments.tensors], [], "an input is missing")

    def check_text(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "program.fusion")
            file.write_text(text)
            self.check(file)

    def test_all_examples(self):
        self.assertGreater(len(EXAMPLES), 40)
        for file in EXAMPLES:
            with self.subTest(file.name):
                self.check(file)

    def test_long_names_and_names_that_are_markup(self):
        self.check_text(LONG)

    def test_many_segments(self):
        self.check_text(MANY)

    def test_sixty_ops(self):
        self.check_text(wide_fusion())

    def test_a_cut_is_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "program.fusion")
            file.write_text(MANY)
            text = tokamak("draw", file, "--svg", "segments=-")
        self.assertIn("cut before segment 1: matmul is a library call", text)
        self.assertIn("some reductions are inner, others are outer", text)

    def test_host_programs(self):
        for file in sorted((ROOT / "tests" / "golden").glob("*.host_ir")):
            with self.subTest(file.name):
                picture = svg_geometry.Picture(self.draw(file, "host")["host"])
                self.assertEqual(list(picture.faults())[:5], [])

    def test_pictures_of_the_docs_are_what_is_drawn(self):
        files = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
        self.assertGreater(len(files), 1)
        for file in files:
            program, what, _ = file.name.split(".")
            command = ("draw", ROOT / "examples" / f"{program}.fusion", "--svg")
            self.assertEqual(file.read_text(), tokamak(*command, f"{what}=-"),
                             f"write it again: tokamak draw examples/{program}.fusion --svg {what}={file}")

    def test_faults_are_found(self):
        text = self.draw(ROOT / "examples" / "mlp_streams.fusion", "segments")["segments"]
        rect = re.search(r'<g data-op="erf">.*?<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', text, re.S)
        for number, value, sentences in ((2, "900", ("stands out of data-segment", "overlaps", "stands out of data-op")),
                                         (3, "10", ("stands out of data-op",)),
                                         (1, "100", ("an edge runs through",))):
            changed = text[:rect.start(number)] + value + text[rect.end(number):]
            faults = " ".join(svg_geometry.Picture(changed).faults())
            for sentence in sentences:
                self.assertIn(sentence, faults)
        self.assertEqual(list(svg_geometry.Picture(text).faults()), [])


if __name__ == "__main__":
    unittest.main()
