#!/usr/bin/env python3
"""Writes into pages what their programs are and what their commands print; review the result as a diff.

    scripts/pages.py [--check] [--tokamak PATH] [--programs FOLDER] [PAGE]...     (default: all that have such blocks)

A page is Markdown. Two kinds of fenced blocks are written from their sources, all else is left alone:

    ```fusion examples/lessons/first_fusion.fusion        the text of a file of this tree
    ```console                                            lines `$ COMMAND`, each with what it prints below it

A command runs in bash, in a folder of its own that looks like the root of the tree. It finds `tokamak`, and the built
programs of examples/lessons in build/lessons. A line that ends with a backslash goes on in the next one. Standard
output and standard error are shown together; behind a command that fails stands `(exit code N)`. Pictures (*.svg) that
commands write are put beside the page, which has to show them. What differs from run to run or between machines
is shown as `_`: times, checksums, how large an error is, and the bytes of compiled code.

--check            changes nothing; exit code 1 if a page or a picture is not what would be written
--tokamak PATH     the command line (default: build/release/bin/tokamak)
--programs FOLDER  the built programs of examples/lessons (default: build/release/examples/lessons)

With docs/lessons/README.md it is seen to that every program of examples/lessons stands on a page, and that every
picture of docs/lessons is written by one.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LESSONS = ROOT / "docs" / "lessons"
PROGRAMS = ROOT / "build" / "release" / "examples" / "lessons"
ALL = [*sorted(LESSONS.glob("*.md")), ROOT / "README.md",
       *(ROOT / "docs" / page for page in ("command_line.md", "devices.md", "exported_programs.md", "text.md")),
       *(ROOT / "docs" / "site" / page for page in ("errors.md", "host_programs.md", "looking_inside.md"))]
FENCE = re.compile(r"^```(\S+)(?: (\S+))?$")
NUMBER = r"[-+.0-9e]+"
# What is not compared: (pattern, what is shown in its place).
MASKS = [(re.compile(rf"(?m)^time: compile {NUMBER} ms, first run {NUMBER} ms"), "time: compile _ ms, first run _ ms"),
         (re.compile(rf"(?m)^time: load {NUMBER} ms, first run {NUMBER} ms"), "time: load _ ms, first run _ ms"),
         (re.compile(rf": {NUMBER} ms, {NUMBER} times that of"), ": _ ms, _ times that of"),
         (re.compile(r"(?m)\b[0-9]+ bytes of code$"), "_ bytes of code"),
         (re.compile(r"(?m)^(\S+\.tk): [0-9]+ bytes$"), r"\1: _ bytes"),
         (re.compile(r"\bchecksum [0-9a-f]{16}\b"), "checksum _"),
         (re.compile(rf"max error {NUMBER} ulp, {NUMBER} of the bound"), "max error _ ulp, _ of the bound"),
         (re.compile(rf"(?m)^  rmse {NUMBER} of the bound, limit {NUMBER}$"), "  rmse _ of the bound, limit _")]
SECONDS = 120


class Wrong(Exception):
    """The page cannot be written."""


class Workplace:
    """The folder in which a page's commands run: it looks like the root of the tree, and nothing there is written to."""

    def __init__(self, folder, tokamak, programs):
        self.folder = folder
        for entry in ROOT.iterdir():
            if entry.name not in ("build", ".git"):
                (folder / entry.name).symlink_to(entry)
        (folder / "build").mkdir()
        (folder / "build" / "lessons").symlink_to(programs)
        (folder / "bin").mkdir()
        (folder / "bin" / "tokamak").symlink_to(tokamak)
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("TOKAMAK_") or name in ("TOKAMAK_CACHE_DIR", "TOKAMAK_CC")}
        self.environment = kept | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def run(self, command):
        """The lines that a command prints."""
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        if done.returncode in (126, 127):  # as shells say it
            raise Wrong(f"{command}: {done.stdout.strip()}; build the command line and the programs of the lessons first")
        said = done.stdout.replace(f"{self.folder}/", "")
        for pattern, shown in MASKS:
            said = pattern.sub(shown, said)
        lines = [line.rstrip() for line in said.splitlines()]
        return lines + ([f"(exit code {done.returncode})"] if done.returncode else [])

    def pictures(self):
        return sorted(path for path in self.folder.glob("*.svg") if not path.is_symlink())


def commands_of(lines):
    """The commands of a console block, each as its lines."""
    found, goes_on = [], False
    for line in lines:
        if goes_on:
            found[-1].append(line)
        elif line.startswith("$ "):
            found.append([line])
        elif not found:
            raise Wrong(f"a console block begins with a command (`$ ...`), not with '{line}'")
        goes_on = (goes_on or line.startswith("$ ")) and line.endswith("\\")
    return found


def written(language, source, lines, workplace):
    """What the block should hold."""
    if language == "console":
        result = []
        for command in commands_of(lines):
            result += command + workplace.run("\n".join(command)[2:])
        return result
    if source is None:
        return lines
    if not (ROOT / source).is_file():
        raise Wrong(f"there is no file {source}")
    return (ROOT / source).read_text(encoding="utf-8").splitlines()


def renewed(text, workplace):
    """The text of a page with its blocks written anew."""
    result, lines = [], text.splitlines()
    while lines:
        line = lines.pop(0)
        result.append(line)
        fence = FENCE.match(line)
        if not fence:
            continue
        if "```" not in lines:
            raise Wrong(f"the block '{line}' has no end")
        end = lines.index("```")
        result += written(fence[1], fence[2], lines[:end], workplace) + ["```"]
        del lines[:end + 1]
    return "\n".join(result) + "\n"


def page_files(page, options):
    """What should be in the files that belong to a page: path -> bytes."""
    with tempfile.TemporaryDirectory(prefix="pages_") as folder:
        workplace = Workplace(pathlib.Path(folder).resolve(), options.tokamak.resolve(), options.programs.resolve())
        text = renewed(page.read_text(encoding="utf-8"), workplace)
        if page == LESSONS / "README.md" and (lost := orphans(LESSONS)):
            raise Wrong("; ".join(lost))
        files = {page: text.encode()}
        for picture in workplace.pictures():
            if f"]({picture.name})" not in text:
                raise Wrong(f"the picture {picture.name} is written and not shown: ![...]({picture.name})")
            files[page.parent / picture.name] = picture.read_bytes()
    return files


def update(page, options):
    """Writes a page and its pictures, or compares them alone; returns the files that changed."""
    changed = []
    for path, content in page_files(page, options).items():
        before = path.read_bytes() if path.exists() else b""
        if content == before:
            continue
        changed.append(path)
        if not options.check:
            path.write_bytes(content)
        elif path == page:
            sys.stdout.writelines(difflib.unified_diff(before.decode().splitlines(True), content.decode().splitlines(True),
                                                       str(path), "what would be written"))
    return changed


def orphans(folder):
    """What belongs to no page of docs/lessons."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted(folder.glob("*.md")))
    programs = (f"examples/{folder.name}/{path.name}" for path in sorted((ROOT / "examples" / folder.name).glob("*.*"))
                if path.name != "CMakeLists.txt")
    return [f"{program} stands on no page" for program in programs if not re.search(rf"(?m)^```\w+ {re.escape(program)}$", text)] \
        + [f"{path} is written by no command" for path in sorted(folder.glob("*.svg")) if f"={path.name}" not in text]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tokamak", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "tokamak")
    parser.add_argument("--programs", type=pathlib.Path, default=PROGRAMS)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    failures = 0
    for page in options.pages or ALL:
        try:
            changed = update(page.resolve(), options)
        except (Wrong, OSError, subprocess.TimeoutExpired) as reason:
            print(f"failed: {page}: {reason}", file=sys.stderr)
            failures += 1
            continue
        for path in changed:
            print(f"{'out of date' if options.check else 'updated'}: {os.path.relpath(path)}")
        if options.check:
            failures += len(changed)
        if not changed:
            print(f"unchanged: {page}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
