#!/usr/bin/env python3
"""What a shared library shows is what its installed headers declare, and all of that:

    exported_names.py LIBRARY INCLUDE_FOLDER

Functions and classes of the headers carry TOKAMAK_EXPORT, those for C TOKAMAK_C_EXPORT. Prints what differs; exit code 1."""
import pathlib
import re
import subprocess
import sys


def exported(library):
    listed = subprocess.run(["nm", "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = [line.split(" ", 2)[2].split("@")[0] for line in listed.splitlines()]
    return [name for name in names if not name.startswith("TOKAMAK_")]  # versions of the symbols


def declared(folder):
    """Names of functions and classes that the headers mark."""
    functions, classes = set(), set()
    for header in sorted(pathlib.Path(folder).rglob("*.h")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/|#define[^\n]*", "", header.read_text(encoding="utf-8"), flags=re.S)
        classes |= set(re.findall(r"\b(?:class|struct) TOKAMAK_EXPORT (\w+)", text))
        for mark, statement in re.findall(r"\bTOKAMAK(_C)?_EXPORT ([^;{]*?\([^;{]*)", text):
            functions.add(re.match(r"[^(]*?(\w+)\s*\(", statement)[1])
    return functions, classes


def subject(name):
    """The class or function that a symbol is of: 'Tensor' for 'vtable for tokamak::Tensor'."""
    name = re.sub(r"^(vtable|typeinfo|typeinfo name|VTT) for |^(non-)?virtual thunk to ", "", name)
    return re.match(r"(?:tokamak::(?:defining::|dlpack::)?)?(\w+)", name)[1]


def main():
    library, folder = sys.argv[1:]
    functions, classes = declared(folder)
    names = exported(library)
    wrong = []
    for name in names:
        is_ours = re.match(r"tokamak_\w+$", name) or re.search(r"(^| )tokamak::", name)
        if not is_ours or subject(name) not in functions | classes:
            wrong.append(f"{name}: it is shown, and no header declares it")
    shown = {subject(name) for name in names}
    for name in sorted((functions | classes) - shown):
        wrong.append(f"{name}: it is declared, and not shown")
    print("\n".join(wrong) or f"{len(names)} symbols of {len(functions)} functions and {len(classes)} classes")
    return 1 if wrong or len(names) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
