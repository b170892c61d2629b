"""What an SVG file of `tokamak draw` looks like: boxes, texts and edges with their coordinates, and what is wrong there."""
import re
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
# Groups that are a box around texts, by the attribute that says what they stand for.
BOXES = ("data-op", "data-tensor-box", "data-scalar", "data-step", "data-mark")
EDGE_COLOURS = {"#6b7885", "#5b7c9d", "#c2571a"}
SLACK = 0.15  # coordinates are rounded to a tenth


class Box:
    def __init__(self, x, y, width, height, name):
        self.left, self.top, self.right, self.bottom, self.name = x, y, x + width, y + height, name

    def contains(self, other, slack=SLACK):
        return (self.left - slack <= other.left and other.right <= self.right + slack
                and self.top - slack <= other.top and other.bottom <= self.bottom + slack)

    def overlaps(self, other, slack=SLACK):
        return (self.left + slack < other.right and other.left + slack < self.right
                and self.top + slack < other.bottom and other.top + slack < self.bottom)

    def __repr__(self):
        return f"{self.name} [{self.left:.1f}..{self.right:.1f}, {self.top:.1f}..{self.bottom:.1f}]"


class Picture:
    """The parts of one file. Errors: ElementTree.ParseError where it is no well-formed XML."""

    def __init__(self, text):
        self.root = ElementTree.fromstring(text)
        width, height = (float(self.root.get(side)) for side in ("width", "height"))
        self.whole = Box(0, 0, width, height, "the picture")
        self.boxes, self.segments, self.texts, self.edges = [], [], [], []  # texts: (extent, the box around it)
        self.tensors, self.elements = [], []
        self.repeated = []  # tensors in boxes that say so
        self.visit(self.root, None, None)

    def visit(self, element, box, segment):
        self.elements.append(element)
        kind = next((name for name in element.keys() if name.startswith("data-")), None)
        if kind in BOXES or kind == "data-segment":
            rect = element.find(SVG + "rect")
            made = Box(*(float(rect.get(side)) for side in ("x", "y", "width", "height")), f"{kind} {element.get(kind)}")
            made.segment = segment
            if kind == "data-segment":
                segment = made
                self.segments.append(made)
            else:
                box = made
                self.boxes.append(made)
        if kind == "data-tensor":
            self.tensors.append(element.get(kind))
        if kind == "data-op" and any("computed again" in (text.text or "") for text in element.iter(SVG + "text")):
            self.repeated += [group.get("data-tensor") for group in element.iter() if group.get("data-tensor")]
        if element.tag == SVG + "text":
            self.texts.append((extent_of(element), box))
        if element.tag == SVG + "path" and element.get("stroke") in EDGE_COLOURS and not element.get("stroke-dasharray"):
            self.edges.append(points_of(element.get("d")))
        for child in element:
            self.visit(child, box, segment)

    def names(self, attribute):
        return [element.get(attribute) for element in self.elements if element.get(attribute) is not None]

    def faults(self):
        """Sentences; none for a picture as it should be."""
        for element in self.elements:
            if element.tag in (SVG + "script", SVG + "image", SVG + "foreignObject"):
                yield f"there is a {element.tag}"
        for i, box in enumerate(self.boxes):
            if not self.whole.contains(box):
                yield f"{box} stands out of {self.whole}"
            if box.segment is not None and not box.segment.contains(box):
                yield f"{box} stands out of {box.segment}"
            for other in self.boxes[i + 1:]:
                if box.overlaps(other):
                    yield f"{box} overlaps {other}"
            for segment in self.segments:
                if segment is not box.segment and segment.overlaps(box):
                    yield f"{box} overlaps {segment}"
        for i, segment in enumerate(self.segments):
            for other in self.segments[i + 1:]:
                if segment.overlaps(other):
                    yield f"{segment} overlaps {other}"
        for i, (text, box) in enumerate(self.texts):
            if not (box or self.whole).contains(text):
                yield f"{text} stands out of {box or self.whole}"
            for other, _ in self.texts[i + 1:]:
                if text.overlaps(other, slack=0.5):
                    yield f"{text} overlaps {other}"
        for points in self.edges:
            for box in self.boxes:
                if any(box.left + 1 < x < box.right - 1 and box.top + 1 < y < box.bottom - 1 for x, y in points):
                    yield f"an edge runs through {box}"


def extent_of(element):
    """Of a text, by the width that the file reckons with; 0.75 of the size above the baseline and 0.22 below it."""
    size, width = float(element.get("font-size")), float(element.get("textLength"))
    x, y = float(element.get("x")), float(element.get("y"))
    left = x - {"middle": width / 2, "end": width}.get(element.get("text-anchor"), 0)
    return Box(left, y - 0.75 * size, width, 0.97 * size, f"text '{element.text}'")


def points_of(data):
    """Points of a path of M, L, V, H and C, close enough to see what it runs through."""
    points, x, y = [], 0.0, 0.0

    def straight(to_x, to_y):
        for i in range(33):
            points.append((x + (to_x - x) * i / 32, y + (to_y - y) * i / 32))

    for command, text in re.findall(r"([A-Za-z])([^A-Za-z]*)", data):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", text)]
        if command == "C":
            x1, y1, x2, y2, x3, y3 = numbers
            for i in range(33):
                t = i / 32
                parts = ((1 - t)**3, 3 * t * (1 - t)**2, 3 * t * t * (1 - t), t**3)
                points.append((sum(a * b for a, b in zip(parts, (x, x1, x2, x3))),
                               sum(a * b for a, b in zip(parts, (y, y1, y2, y3)))))
            x, y = x3, y3
            continue
        to_x, to_y = {"M": lambda: numbers, "L": lambda: numbers, "V": lambda: (x, numbers[0]),
                      "H": lambda: (numbers[0], y), "z": lambda: (x, y)}[command]()
        if command != "M":
            straight(to_x, to_y)
        x, y = to_x, to_y
    return points
