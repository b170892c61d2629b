"""Tries packages in a clean system: the machine's distribution, of its own package sources, in a folder."""
import dataclasses
import os
import pathlib
import platform
import shutil
import subprocess

EXAMPLES = "/examples"
PROGRAM = f"{EXAMPLES}/suite/softmax_fwd.fusion"
LESSONS = f"{EXAMPLES}/lessons"
EXPORTED = f"{EXAMPLES}/exported"
# What is exported before, where there is a compiler, for any processor of the machine's kind: file, program, options.
EXPORTS = [("softmax_rows", "exported/softmax_rows.fusion", ["--size", "rows=1..1024"]),
           ("mlp", "mlp_streams.fusion", ["--size", "rows=256", "--size", "model=64", "--size", "hidden=128"])]
# What is asked of the packages, in this order: a sentence, and a command that has to end well.
WITHOUT_A_COMPILER = [
    ("no C compiler is there", "! command -v cc && ! command -v gcc && ! command -v clang"),
    ("the command line has the version", 'test "$(tokamak --version)" = "tokamak VERSION"'),
    ("completions are there", "test -s /usr/share/bash-completion/completions/tokamak -a "
                              "-s /usr/share/zsh/vendor-completions/_tokamak"),
    ("the linker finds the shared library", "ldconfig -p | grep 'libtokamak[.]so[.]'"),
    ("a program runs without a C compiler", f"tokamak run {PROGRAM} --check"),
    ("a lesson's program runs", f"tokamak run {LESSONS}/streams.fusion --check"),
    ("a lesson's race is refused", f"tokamak run {LESSONS}/race.host_ir --size n=8; test $? = 3"),
    ("compiled kernels are refused without one", f"tokamak run {PROGRAM} --kernels compiled-only; test $? = 4"),
    ("an exported softmax runs", f"tokamak run {EXPORTED}/softmax_rows.tk --size rows=64"),
    ("an exported MLP runs", f"tokamak run {EXPORTED}/mlp.tk"),
]
WITH_A_COMPILER = [
    ("a program runs with a C compiler", f"tokamak run {PROGRAM} --check --kernels compiled-only"),
    ("the C++ examples are built", f"cmake -S {EXAMPLES}/cpp -B /tmp/cpp -G Ninja && cmake --build /tmp/cpp"),
    ("softmax.cpp runs", "/tmp/cpp/softmax"),
    ("stream_program.cpp runs", "/tmp/cpp/stream_program"),
    ("the lessons' C++ programs are built", f"cmake -S {LESSONS} -B /tmp/lessons -G Ninja && cmake --build /tmp/lessons"),
    ("the lessons' C++ programs run", "/tmp/lessons/first_fusion && /tmp/lessons/schedule_by_hand && /tmp/lessons/own_memory"),
    ("programs over exported files are built",
     f"cmake -S {EXPORTED} -B /tmp/exported -G Ninja -DEXPORTED={EXPORTED} && cmake --build /tmp/exported"),
    ("they run where no compiler is found",
     f"PATH=/nothing /tmp/exported/run_exported {EXPORTED}/softmax_rows.tk && PATH=/nothing /tmp/exported/linked_in"),
    ("the C example is built", f"cmake -S {EXAMPLES}/c -B /tmp/c -G Ninja && cmake --build /tmp/c"),
    ("softmax.c runs", "/tmp/c/softmax_c"),
    ("pkg-config has the version", 'test "$(pkg-config --modversion tokamak)" = VERSION'),
    ("softmax.c is built by pkg-config, and runs",
     f"cc {EXAMPLES}/c/softmax.c $(pkg-config --cflags --libs tokamak) -lm -o /tmp/softmax_c && /tmp/softmax_c"),
    ("the static library links where {fmt} is",
     f"apt-get install -qq -y --no-install-recommends libfmt-dev && c++ -std=c++20 {EXAMPLES}/cpp/softmax.cpp -l:libtokamak.a "
     "-lfmt -ldl -pthread -o /tmp/softmax_static && /tmp/softmax_static && ! ldd /tmp/softmax_static | grep libtokamak"),
    ("the packages go without a trace", "apt-get purge -qq -y tokamak libtokamak-dev LIBRARY && "
                                        "test -z \"$(find /usr /etc -name '*tokamak*')\""),
]
TOOLS = "g++ cmake ninja-build pkgconf"  # of who builds programs
SECONDS = 900


@dataclasses.dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def count(self, sentence, done):
        """Whether a step ended well."""
        is_passed = done.returncode == 0
        self.passed += is_passed
        self.failed += not is_passed
        print(f"{'ok' if is_passed else 'FAILED'}: {sentence}", flush=True)
        if not is_passed:
            print(done.stdout[-3000:])
        return is_passed


def run(command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                              check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, f"{late}\n")


def inside(root, command):
    """Runs a line of shell in the system, which sees no process of this one."""
    return run(["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", str(root), "/usr/bin/env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                "DEBIAN_FRONTEND=noninteractive", *(f"{name}={os.environ[name]}" for name in os.environ if name.endswith("_proxy")),
                "sh", "-c", command])


def why_not(can_try):
    """What a clean system lacks on this machine, or nothing."""
    if not can_try or not shutil.which("mmdebstrap"):
        return "there is no mmdebstrap"
    if os.geteuid() != 0:
        return "chroot needs root"
    if run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]).returncode:
        return "namespaces are not to be had"
    return ""


def make_system(root):
    """The distribution with apt and little else, from where this machine's packages come."""
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    codename = [line.split("=")[1].strip('"') for line in release.splitlines() if line.startswith("VERSION_CODENAME=")][0]
    places = [pathlib.Path("/etc/apt/sources.list"), pathlib.Path("/etc/apt/sources.list.d/debian.sources"),
              pathlib.Path("/etc/apt/sources.list.d/ubuntu.sources")]
    sources = [str(place) for place in places if place.exists() and place.stat().st_size]
    done = run(["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", codename, str(root), *sources])
    if done.returncode == 0 and pathlib.Path("/etc/resolv.conf").exists():
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    return done


def install(root, *words):
    return inside(root, f"apt-get update -qq && apt-get install -qq -y --no-install-recommends {' '.join(words)}")


def export_programs(tokamak, folder):
    """Writes the exported files into the folder of examples. `tokamak`: the command line."""
    processor = ["--cpu", "x86-64-v2"] if platform.machine() == "x86_64" else []
    for name, program, options in EXPORTS:
        target = folder / "exported" / name
        written = ["-o", f"{target}.tk", "--c", str(target)]
        done = run([str(tokamak), "export", str(folder / program), *options, *processor, *written])
        if done.returncode:
            return done
    return done


def try_packages(packages, version, examples, work, can_try, tokamak):
    """Installs the packages in a new system below `work` and does there what users do. Returns what came of it."""
    tally = Tally()
    reason = why_not(can_try)
    if reason:
        tally.skipped = 1
        print(f"clean system: skipped: {reason}")
        return tally
    root = work / "system"
    if not tally.count("a clean system is made", make_system(root)):
        return tally
    shutil.copytree(examples, root / EXAMPLES.strip("/"))
    tally.count("programs are exported", export_programs(tokamak, root / EXAMPLES.strip("/")))
    (root / "packages").mkdir()
    for package in packages:
        shutil.copy(package, root / "packages")
    library, development, tool = (f"/packages/{package.name}" for package in packages)
    name = packages[0].name.split("_")[0]
    for sentence, words, steps in (("the library and the command line are installed", [library, tool], WITHOUT_A_COMPILER),
                                   ("development files and a compiler are installed", [development, TOOLS], WITH_A_COMPILER)):
        if not tally.count(sentence, install(root, *words)):
            return tally
        for step, command in steps:
            tally.count(step, inside(root, command.replace("VERSION", version).replace("LIBRARY", name)))
    return tally
