#!/usr/bin/env python3
"""The rules of STYLE.md that a machine can check: machine_checks.py [--root FOLDER] [CHECK]...   (default: all)

Each check prints `file:line: what is wrong`. Exit code 1: something is wrong; 77: not applicable here (no git checkout).
"""
import argparse
import pathlib
import re
import subprocess
import sys

import cpp_source

# A room includes itself and what stands before it. A room of rooms holds no sources itself.
ROOMS = ["base", "symbolic", "ir", "compute", "analysis", "define", "oracle", "schedule", "graph", "device", "device_code", "loops",
         "kernel", "toolchain", "runtime/cpu", "runtime/cuda", "dist", "heuristics", "segment", "lower", "codegen",
         "host/ir", "host/lower", "host/local", "host/check", "host/plan", "host/run", "simulate", "jit", "interop", "compile", "report",
         "tokamak", "tools", "python"]
# What users of the library see: rooms, and a few headers of others. All else is included by sources alone.
PUBLIC = re.compile(r"(tokamak|symbolic|ir|define|schedule|device)/|interop/|"
                    r"compile/(argument|compile_options|export_for_c|export_options|exported_program|program)\.h$|"
                    r"base/(error|export|half|home_process|log|spin_lock|trace)\.h$|"
                    r"runtime/\w+/(\w+_options|parallel_for)\.h$|jit/open_device\.h$|"
                    r"dist/(communication_error|job_communicator|open_communicator|sockets/bootstrap)\.h$")
GENERATED = {"ir/op_lists.h", "tokamak/version.h"}
# The oracle shares nothing with what it judges, and the library does not link it.
ONLY = {"oracle": {"base", "symbolic", "ir", "oracle"}}
MAY_INCLUDE_ORACLE = {"oracle", "tools", "python"}
FORBIDDEN_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "internal", "new", "v2", "impl"}
# What precompiled headers (cmake/precompiled.cmake) would make visible to sources that do not include it: a name, and
# the headers that give it, themselves or because the standard says so of them.
GIVEN_BY = {
    r"std::vector\b": "vector", r"std::array\b": "array span", r"std::span\b": "span", r"std::optional\b": "optional",
    r"std::(multi)?map\b": "map", r"std::(multi)?set\b": "set", r"std::unordered_map\b": "unordered_map",
    r"std::(string|to_string)\b": "string sstream iostream fmt/core.h fmt/format.h fmt/ranges.h gtest/gtest.h",
    r"std::string_view\b": "string_view string sstream iostream fmt/core.h fmt/format.h fmt/ranges.h gtest/gtest.h",
    r"std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)\b": "memory gtest/gtest.h",
    r"std::(variant|visit|get_if|holds_alternative|monostate)\b": "variant", r"std::function\b": "functional",
    r"std::(stable_)?(sort|partition)\b|std::(find|find_if|copy_n|max_element|all_of|any_of|none_of)\(|"
    r"std::ranges::(sort|find|find_if|all_of|any_of|none_of|copy)\b": "algorithm",
    r"fmt::(format|join|formatter)\b": "fmt/core.h fmt/format.h fmt/ranges.h",
    r"\bTK_(CHECK|REQUIRE|RAISE)\(": "base/require.h", r"\bDataType::": "symbolic/data_type.h", r"\bMemoryKind::": "ir/memory_kind.h",
}
# Words of a private dialect, and those of the field that took their place (docs/glossary.md). A pattern is as narrow as
# it has to be: a row of a matrix stays a row. (A word, what to write, and for some the paths.)
RETIRED_WORDS = [
    (r"[Kk]ept[ _-](?:values?|columns?|bytes)|KeptValues?|findKeptValues|keeps?_columns|kMostKept", "persistent (buffers, inputs)"),
    (r"kernel_rows|KernelRows|row_facts|RowFacts", "reduction structure, reduction sizes"),
    (r"is_?[Ii]n_?[Cc]olumns|whyNotInColumns|in blocks of columns|[Rr]eductions? of columns|[Ss]ums of columns", "outer reduction"),
    (r"[Pp]arts? of columns|[Cc]olumn_?[Pp]arts?\b|columnParts?(?:Of)?|ColumnSumParts|column_threads|column_blocks",
     "partial outer reduction, block_x, outer_grid_split"),
    (r"split[_-]column[_-]sums|[Ss]plitColumnSums", "two-stage outer reduction"),
    (r"[Cc]hunked[_ -]?[Mm]axima|legalChunk|chunkMaximum|chunk_choice", "online softmax"),
    (r"stage_choice|stage(?:Kept)?Row|stageRowsWithParts", "shared-memory persistent"),
    (r"row_blocks|(?:take|takes|taken by blocks|blocks that take|rows) in turns", "persistent grid"),
    (r"row_parts|spreads_rows", "inner_grid_split, splits_row_over_grid"),
    (r"split_axes|splitAxes", "unmerge_reshapes"),
    (r"values?_by_hand|[Hh]andValues?|partsByHand|\.by_hand", "parameter overrides"),
    (r"axis_groups|AxisGroups", "access contiguity"),
    (r"own_places|[Oo]wnPlaces?|tensorsInOwnPlaces", "thread-private shared memory"),
    (r"(?:kir::)?(?:Grid)?Combine|combine blocks over|[Gg]rid_?combine_?(?:of|source)|gridCombineOf|combine_source", "block reduce, grid reduce"),
    (r"[Cc]opies(?: |_)?(?:under|Under)(?: |_)?(?:way|Way)", "pending copies"),
    (r"[Ww]itness(?:es)?", "sample points"),
    (r"segment/neighbours|mergeNeighbours|group_border|repeated_values|countPlacesRead", "group merging, segment inputs and outputs, recompute factor"),
    (r"whyNoKernel|whyNoC(?:pu|uda)Kernel", "canSchedule"),
    (r"[Hh]ost[ -]units?|[Uu]nit(?:Mode|Slices)|unit_(?:mode|slices)|(?:Kernel|Host)Units|Grouping::Units|(?:--grouping|lower-to-host)[ -]units", "segment"),
    (r"(?:a|an|the|each|every|another|same|one|no) units?", "segment",
     r"src/(?:analysis|compile|graph|host|ir|jit|lower|report|segment|tools)/|ARCHITECTURE\.md|docs/(?:host_text|kernels|pictures|streams|text|views)\.md"),
    (r"[Rr]otating (?:buffers?|slots?)|rotate[_-]stream[_-]buffers|rotateStreamBuffers|BufferRotator", "circular buffers; contraction (of stream buffers)"),
    (r"(?:a|an|each|every|next|last|first|same|one|per|no|this|whose|of the loop's) turn|loop's turns?|turnsOf|\w+Turns?Of|kTurns|(?:of|has|each|last)_turns?",
     "iteration", r"src/(?:codegen|heuristics|kernel|lower|schedule)/|docs/kernels\.md|tests/text/(?:kernels|passes)/"),
    (r"[Tt]urned_?[Ll]oops|(?:tiles?|buffers?) (?:is|are) turned|tiles? turned", "in-register transpose, transposed"),
    (r"(?:at|of) (?:a|one|the same|every|each|several|different) places?(?! in)", "index, offset", r"src/(?:codegen|heuristics|kernel|lower)/"),
    (r"row_passes|RowPasses", "prefetch insertion"),
    (r"lane_loops|LaneLoops?|vector_text|VectorText", "loop vectoriser, vector emission"),
    (r"jam[_-]loops|jamLoops|LoopJammer", "unroll-and-jam"),
    (r"cut[_-]loops|cutLoops|LoopCutter", "index-set splitting"),
    (r"tighten[_-]loops|tightenLoops|Tightener", "guard elimination"),
    (r"hoist[_-]values|hoistValues|ValueHoister", "loop-invariant code motion"),
    (r"tabulate[_-]values|tabulateValues", "array expansion"),
    (r"merge[_-]choices|mergeChoices|known_choices", "select sinking, predicate folding"),
    (r"share[_-]reciprocals|shareReciprocals", "invariant reciprocals"),
    (r"join[_-]ones|joinOnes|plus_one", "rules for 1 + erf, 1 + tanh (one_plus_rules)"),
    (r"fuse[_-]products|fuseProducts", "FMA contraction"),
    (r"part[_-]sums|partSums|SumParter", "blocked summation"),
    (r"group[_-]combines|groupCombines|combine[_-]clusters|combineClusters", "batched block reductions, cluster reduction"),
    (r"split[_-]remainders|splitRemainders", "div/mod simplification"),
    (r"order[_-]updates|orderUpdates", "ordering of in-place stores"),
    (r"device_code/texts?|DeviceText", "source"),
    (r"given_memory|fitting_sizes|requireFittingSizes|graph/(?:rebuild|refold)|base/ranges", "alias checks, shape constraints, rewriter, profiler range"),
]
CODE = {".cpp", ".h", ".cu", ".cuh", ".c", ".py", ".cmake", ".txt", ".sh"}
NOT_APPLICABLE = 77
MOST_COLUMNS = 120


class NotApplicable(Exception):
    """A check that cannot be made in this tree."""


class Tree:
    """The files of a checkout."""

    def __init__(self, root):
        self.root = root
        listed = self.git("ls-files", "-co", "--exclude-standard")
        if listed is None:
            listed = [str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and "build" not in p.parts]
        self.files = sorted(f for f in listed if (root / f).is_file())

    def git(self, *arguments):
        """Lines printed by git, or None where this is no checkout."""
        if not (self.root / ".git").exists():
            return None
        done = subprocess.run(["git", "-C", str(self.root), "-c", "core.quotepath=off", *arguments], check=False,
                              capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else None

    def text(self, file):
        return (self.root / file).read_text(errors="replace")

    def sources(self, *tops, suffixes=(".cpp", ".h")):
        for file in self.files:
            parts = pathlib.PurePath(file)
            if parts.parts[0] in tops and parts.suffix in suffixes:
                yield file


def check_file_names(tree):
    """No file is named after nothing in particular."""
    for file in tree.files:
        for part in pathlib.PurePath(file).parts:
            stem = part.lower().split(".")[0].replace("internal_error", "")  # which is a concept: exit code 70
            words = set(re.split(r"[^a-z0-9]+", stem))
            for word in sorted(words & FORBIDDEN_WORDS):
                yield f"{file}:1: '{word}' in a name says nothing: name the file after its concept"


def check_file_length(tree):
    """No file is longer than 1,000 lines without a reason in long_files.txt."""
    waiver = tree.root / "tests" / "machinery" / "long_files.txt"
    rows = [line for line in waiver.read_text().splitlines() if line.strip() and not line.startswith("#")]
    reasons = {}
    for row in rows:
        file, _, reason = (part.strip() for part in row.partition(" | "))
        reasons[file] = reason
        if not reason:
            yield f"tests/machinery/long_files.txt:1: no reason is given: {row}"
    for file in tree.files:
        data = (tree.root / file).read_bytes()
        lines = data.count(b"\n")
        if lines > 1000 and b"\0" not in data and file not in reasons:
            yield f"{file}:{lines}: more than 1,000 lines: cut it, or give a reason in tests/machinery/long_files.txt"
        if lines <= 1000 and file in reasons:
            yield f"{file}:{lines}: not longer than 1,000 lines: remove it from tests/machinery/long_files.txt"
    for file in sorted(set(reasons) - set(tree.files)):
        yield f"tests/machinery/long_files.txt:1: there is no file {file}"


def check_error_sentences(tree):
    """TK_CHECK, TK_REQUIRE and TK_RAISE say a sentence."""
    sentence_at = {"TK_CHECK": 1, "TK_REQUIRE": 2, "TK_RAISE": 1}
    for file in tree.sources("src"):
        for call in cpp_source.macro_calls(tree.text(file), sentence_at):
            at = sentence_at[call.name]
            if len(call.arguments) <= at:
                yield f"{file}:{call.first_line}: {call.name} without a sentence"
            elif '"' in call.arguments[at] and len(call.arguments[at].split()) < 2:
                yield f"{file}:{call.first_line}: {call.name}: {call.arguments[at]} is no sentence"


def check_no_abort(tree):
    """Nothing in src/ aborts or asserts."""
    for file in tree.sources("src"):
        code = cpp_source.without_comments(tree.text(file))
        for number, line in enumerate(code.splitlines(), 1):
            match = re.search(r"(?<![\w.])(?:std::)?(assert|abort)\s*\(", line)
            if match:
                yield f"{file}:{number}: {match[1]}: raise an error (TK_CHECK, TK_REQUIRE) instead"


def room_of(path):
    """The room of a file below src/, or None."""
    return next((room for room in ROOMS if path.startswith(room + "/")), None)


def check_room_layers(tree):
    """A room of src/ includes only itself and the rooms before it."""
    for file in tree.sources("src"):
        room = room_of(file.removeprefix("src/"))
        if room is None:
            yield f"{file}:1: {pathlib.PurePath(file).parent} is no room; rooms: {' '.join(ROOMS)}"
            continue
        code = cpp_source.without_comments(tree.text(file), keep_strings=True)
        for number, line in enumerate(code.splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not match:
                continue
            included = room_of(match[1])
            if included is None:
                yield f'{file}:{number}: #include "{match[1]}": an include names its room, as in "ir/expr.h"'
            elif included not in ONLY.get(room, set(ROOMS[:ROOMS.index(room) + 1])):
                yield f"{file}:{number}: {room} includes {included}, which it must not know"
            elif included == "oracle" and room not in MAY_INCLUDE_ORACLE:
                yield f"{file}:{number}: {room} includes oracle, which only tools, the Python module and tests link"


def check_public_headers(tree):
    """What tokamak/tokamak.h includes, directly or not, are headers for users, and of the standard library alone."""
    todo, known = ["tokamak/tokamak.h"], set()
    while todo:
        header = todo.pop()
        if header in known or header in GENERATED or f"src/{header}" not in tree.files:
            continue
        known.add(header)
        for number, line in enumerate(tree.text(f"src/{header}").splitlines(), 1):
            macro = re.match(r"\s*#\s*define (\w+)", line)
            if macro and not re.match("TK_|TOKAMAK_", macro[1]):  # TK_ is installed as TOKAMAK_
                yield f"src/{header}:{number}: users would see the macro {macro[1]}: its name is to begin with TOKAMAK_"
            match = re.match(r'#include ([<"])([^>"]+)[>"]', line)
            if match and match[1] == "<" and not re.fullmatch(r"[a-z_]+", match[2]):
                yield f"src/{header}:{number}: users would need <{match[2]}>: include it in sources alone"
            elif match and match[1] == '"' and not PUBLIC.match(match[2]):
                yield f"src/{header}:{number}: users would see {match[2]}, which is not for them"
            elif match and match[1] == '"':
                todo.append(match[2])


def check_flat_folders(tree):
    """No folder holds more than 40 sources: it would be several rooms."""
    sources = {}
    for file in tree.sources("src", "tests", suffixes=(".cpp",)):
        sources.setdefault(str(pathlib.PurePath(file).parent), []).append(file)
    for folder, files in sources.items():
        if len(files) > 40:
            yield f"{folder}:1: {len(files)} sources in one folder: cut it into rooms of at most 40"


def check_nothing_hidden(tree):
    """Nothing that git tracks is hidden by an ignore rule."""
    hidden = tree.git("ls-files", "-ci", "--exclude-standard")
    if hidden is None:
        raise NotApplicable("no git checkout")
    for file in hidden:
        yield f"{file}:1: tracked, but hidden by a rule of .gitignore"


def check_includes(tree):
    """What precompiled headers bring is included all the same, by the file or by a header of the project that it includes."""
    included = {}

    def given_to(file):
        """The names of all headers that the file reads."""
        if file not in included:
            names = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', tree.text(file), re.M)
            included[file] = set(names)  # before the headers' own, which may come back here
            for name in names:
                for place in (f"src/{name}", f"tests/{name}", f"tests/fuzz/{name}", str(pathlib.PurePath(file).parent / name)):
                    if place in files:
                        included[file] |= given_to(place)
        return included[file]

    files = set(tree.files)
    for file in tree.sources("src", "tests", suffixes=(".cpp",)):
        code = cpp_source.without_comments(tree.text(file))
        for name, headers in GIVEN_BY.items():
            match = re.search(name, code)
            if match and not given_to(file) & set(headers.split()):
                yield f"{file}:{code.count(chr(10), 0, match.start()) + 1}: {match[0]} without {headers.split()[0]}"


def check_comment_length(tree):
    """No line of a comment is longer than 120 columns: clang-format leaves comments alone."""
    for file in tree.files:
        path = pathlib.PurePath(file)
        is_script = path.suffix in {".py", ".sh", ".cmake"} or path.name == "CMakeLists.txt" or (
            path.parts[0] in {"scripts", ".ci"} and not path.suffix)
        marker = r"//" if path.suffix in {".cpp", ".h", ".cu", ".cuh"} else r"#" if is_script else None
        if marker is None:
            continue
        if path.suffix == ".h" and tree.text(file).startswith("/*"):  # for C
            marker = r"/?\*"
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            if len(line) > MOST_COLUMNS and re.match(rf"\s*{marker}(?!include)|.*[;,{{}})] +{marker}[ /]", line):
                yield f"{file}:{number}: a comment of {len(line)} columns, more than {MOST_COLUMNS}"


def check_headers(tree):
    """Every header starts with the concept it holds and is included once."""
    for file in tree.sources("src", "tests", "benchmarks", "examples", suffixes=(".h",)):
        lines = tree.text(file).splitlines()
        if lines and lines[0].startswith("/*"):  # for C
            guarded = re.search(r"(?m)^#ifndef (\w+)\n#define \1$", tree.text(file))
            if not guarded or not re.match(r"/\* \S+ +\S+", lines[0]):
                yield f"{file}:1: a header for C starts with what it holds, and is guarded by #ifndef"
            continue
        if not lines or not re.match(r"//+ \S+ +\S+", lines[0]):
            yield f"{file}:1: the first line does not say what the concept is"
        if "#pragma once" not in lines:
            yield f"{file}:1: no #pragma once"


def check_one_definition(tree):
    """No two types that the linker knows have one name: it would take one's functions for the other's."""
    places = {}
    for file in tree.sources("src"):
        around = []
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            opened = re.match(r"(?:inline )?namespace ?([\w:]*) \{", line)
            if opened:
                around.append(opened[1])
            elif line.startswith("}  // namespace") and around:
                around.pop()
            defined = re.match(r"(?:class|struct|union|enum class) (?:TOKAMAK_EXPORT )?(\w+)(?: final)?(?: :[^:].*)? ?\{", line)
            if defined and "" not in around:
                places.setdefault("::".join(around + [defined[1]]), {}).setdefault(file, number)  # a file may choose
    for name, found in places.items():
        (first, line), *others = found.items()
        for file, number in others:
            yield f"{file}:{number}: {name} is defined in {first}:{line} too"


def hidden_names(text):
    """The names that a source gives in its unnamed namespaces and as static: name -> (line number, line)."""
    declared = (r"(?:struct|class|enum class|enum|union) (\w+)(?! *;)",
                r"(?:template.*> )?(?:static |inline |constexpr |const )*[\w:<>,&*\s]*?\b(\w+)\(",
                r"(?:static |inline |constexpr |const )+[\w:<>,&*\s]*?\b(\w+)(?:\[.*\])? ?[={]",
                r"using (\w+) =")
    names, is_inside = {}, False
    for number, line in enumerate(text.splitlines(), 1):
        if line in ("namespace {", "}  // namespace"):
            is_inside = line == "namespace {"
        elif (is_inside or line.startswith("static ")) and re.match(r"\w", line):
            match = next(filter(None, (re.match(pattern, line) for pattern in declared)), None)
            if match and match[1] != "static_assert":
                names.setdefault(match[1], (number, line))
    return names


def check_batch_names(tree):
    """Sources of a folder and its ops, which may be compiled together, hide different things under different names."""
    places = {}
    for file in tree.sources("src", suffixes=(".cpp",)):
        folder = re.sub(r"/ops(/.*)?$", "", str(pathlib.PurePath(file).parent))
        for name, (number, line) in hidden_names(tree.text(file)).items():
            first, first_number, first_line = places.setdefault((folder, name), (file, number, line))
            if first != file and not (line == first_line and line.startswith("using ")):
                yield f"{file}:{number}: {name} is a name in {first}:{first_number} too, of the same unity batch"


def check_open_ends(tree):
    """Every mark of unfinished work names its issue."""
    mark = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b(?!\(#\d+\))")
    for file in tree.files:
        if pathlib.PurePath(file).suffix not in CODE:
            continue
        for number, line in enumerate(tree.text(file).splitlines(), 1):
            match = mark.search(line)
            if match:
                yield f"{file}:{number}: {match[1]} without an issue: write {match[1]}(#123)"


def check_retired_words(tree):
    """No word of the private dialect comes back: the field's words are in docs/glossary.md."""
    patterns = [(re.compile(rf"(?:{pattern})(?![\w-])"), use, re.compile(*where or [""]))
                for pattern, use, *where in RETIRED_WORDS]
    for file in tree.files:
        path = pathlib.PurePath(file)
        is_searched = path.parts[0] in {"src", "docs", "tests"} or file in {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"}
        if not is_searched or file.startswith(("tests/machinery/machine_checks", "tests/fuzz/results/", "tests/fuzz/corpus/",
                                               "src/device_code/source/")) or path.suffix == ".svg":
            continue
        text = f" {file}\n{tree.text(file)}"
        for pattern, use in [(pattern, use) for pattern, use, where in patterns if where.match(file)]:
            for match in pattern.finditer(text):
                if re.match(r"[\w-]", text[match.start() - 1]):
                    continue  # the end of a longer word; a lookbehind would make the search several times slower
                line = max(text.count("\n", 0, match.start()), 1)  # 0: the file's name
                yield f"{file}:{line}: '{match[0]}' is not a word of this project any more: {use}"


def pages(tree):
    """The Markdown files, and their text with code blocks blanked."""
    for file in tree.files:
        if file.endswith(".md"):
            yield file, re.sub(r"(?ms)^```.*?^```", lambda block: "\n" * block[0].count("\n"), tree.text(file))


def check_links(tree):
    """A relative link of a page leads to a file or a folder."""
    for file, text in pages(tree):
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            target = match[1].split("#")[0]
            if target and "://" not in target and not (tree.root / file).parent.joinpath(target).exists():
                yield f"{file}:{text.count(chr(10), 0, match.start()) + 1}: the link {match[1]} leads nowhere"


def unindented(text):
    return "".join(line.strip() + "\n" for line in text.splitlines())


def check_excerpts(tree):
    """Lines set in below `([file](file)):` stand in that file, together."""
    for file, text in pages(tree):
        for match in re.finditer(r"\]\(([^)\s]+)\)\):\n\n((?: {4}.*\n)+)", text):
            whole = ((tree.root / file).parent / match[1]).read_text(encoding="utf-8")
            if unindented(match[2]) not in unindented(whole):
                yield f"{file}:{text.count(chr(10), 0, match.start(2)) + 1}: {match[1]} has other lines"


def check_named_files(tree):
    """A path in backticks is that of a file or a folder, from the root or any folder on; its ending may be left out."""
    known = "".join(f"/{file}/\n" for file in tree.files)
    for file, text in pages(tree):
        for match in re.finditer(r"`([^`\n]+)`", text):
            path = re.sub(r":\d+$|[.,:;/]+$", "", match[1].split()[0])
            is_path = "/" in path and re.fullmatch(r"\w[\w./-]*", path) and not re.match(r"(build|include|lib)\b", path)
            if is_path and f"/{path}/" not in known and f"/{path}." not in known:
                yield f"{file}:{text.count(chr(10), 0, match.start()) + 1}: there is no {path}"


def check_named_identifiers(tree):
    """An identifier that CONTRIBUTING.md has in backticks is one of the code, the tests or the build."""
    if "CONTRIBUTING.md" not in tree.files:
        return
    named = [match for match in re.finditer(r"`([A-Za-z_][\w:]*)(?:\(\))?`", tree.text("CONTRIBUTING.md"))
             if re.search(r"_|::|[a-z][A-Z]|[A-Z]{4}|\(", match[0])]
    left = {word for match in named for word in match[1].split("::")}
    for file in tree.files:
        if left and pathlib.PurePath(file).parts[0] in {"src", "tests", "cmake", "scripts", "CMakeLists.txt"}:
            text = tree.text(file)
            left -= {word for word in left if re.search(rf"\b{word}\b", text)}
    for match in named:
        if left & set(match[1].split("::")):
            line = tree.text("CONTRIBUTING.md").count("\n", 0, match.start()) + 1
            yield f"CONTRIBUTING.md:{line}: nothing is called {match[1]}"


def check_version(tree):
    """CMakeLists.txt alone states the version: all else is configured from it. CHANGELOG.md has a heading for it."""
    stated = re.search(r"(?m)^project\(.*\bVERSION ((\d+)\.(\d+)\.\d+)",
                       tree.text("CMakeLists.txt")) if "CMakeLists.txt" in tree.files else None
    if stated is None:
        if "CMakeLists.txt" in tree.files:
            yield "CMakeLists.txt:1: project() has no VERSION MAJOR.MINOR.PATCH"
        return
    if "CHANGELOG.md" not in tree.files or not re.search(rf"(?m)^## {re.escape(stated[1])}\b", tree.text("CHANGELOG.md")):
        yield f"CHANGELOG.md:1: no heading '## {stated[1]}' for the version of CMakeLists.txt"
    minor = re.escape(f"{stated[2]}.{stated[3]}")
    statement = re.compile(rf"(?<![\w.-]){re.escape(stated[1])}(?!\.?\w|-)|"
                           rf"(?i:tokamak|\.so)(?:-dev)?[ ._-]?v?{minor}(?!\d)|find_package\(tokamak {minor}")
    for file in tree.files:
        if file in {"CMakeLists.txt", "CHANGELOG.md"} or file.endswith((".svg", ".json", ".npy")):
            continue
        text = tree.text(file)
        for match in statement.finditer(text):
            yield f"{file}:{text.count(chr(10), 0, match.start()) + 1}: '{match[0]}' states the version: take it from the build"


CHECKS = {name.removeprefix("check_"): function for name, function in list(globals().items())
          if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=" ".join(CHECKS))
    parser.add_argument("--list", action="store_true", help="the names of the checks")
    arguments = parser.parse_args()
    if arguments.list:
        print(";".join(CHECKS), end="")
        return 0
    unknown = [name for name in arguments.checks if name not in CHECKS]
    if unknown:
        parser.error(f"no check {unknown[0]}; checks: {' '.join(CHECKS)}")
    tree = Tree(arguments.root)
    wrong = skipped = 0
    for name in arguments.checks or CHECKS:
        try:
            for line in CHECKS[name](tree):
                print(f"{line}  [{name}]")
                wrong += 1
        except NotApplicable as reason:
            print(f"{name}: skipped: {reason}")
            skipped += 1
    if wrong:
        return 1
    return NOT_APPLICABLE if skipped and skipped == len(arguments.checks) else 0


if __name__ == "__main__":
    sys.exit(main())
