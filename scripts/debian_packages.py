"""Debian packages of an installed build: which file is in which, what they say of themselves, and their dependencies."""
import dataclasses
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess


@dataclasses.dataclass
class Facts:
    version: str
    maintainer: str
    time: int  # of every file, in seconds since 1970
    licence: str
    changelog: str

    @property
    def library(self):
        """The package of the shared library is named after its soname."""
        return "libtokamak" + self.version.rsplit(".", 1)[0]


@dataclasses.dataclass
class Package:
    name: str
    section: str
    files: str  # a pattern of paths in the installed build
    summary: str
    description: str
    fields: dict


def packages_of(facts):
    """Each installed file is in exactly one."""
    # Compilers of C only make kernels faster, and products of matrices are OpenBLAS's where it is.
    recommended = {"Recommends": "gcc | c-compiler, libc6-dev | libc-dev, libopenblas0"}
    return [
        Package(facts.library, "libs", r"usr/lib/[^/]+/libtokamak\.so\.[\d.]+", "tensor fusion compiler - shared library",
                "Compiles tensor programs into a few fast kernels, and into a host program that runs them.", recommended),
        Package("libtokamak-dev", "libdevel", r"usr/include/.*|usr/lib/[^/]+/(libtokamak\.(so|a)|(cmake|pkgconfig)/.*)",
                "tensor fusion compiler - development files",
                "Headers for C++ and C, the static library, and files for CMake and pkg-config.",
                {"Depends": f"{facts.library} (= {facts.version})", "Suggests": "libfmt-dev"}),
        Package("tokamak", "science", r"usr/bin/tokamak|usr/share/(bash-completion|zsh)/.*",
                "tensor fusion compiler - command line", "Runs, compiles, draws and times tensor programs.", recommended),
    ]


def distribute(files, packages):
    """{package's name: its files}; a file of no package or of two is an error."""
    shares = {package.name: [] for package in packages}
    for file in files:
        owners = [package.name for package in packages if re.fullmatch(package.files, file)]
        if len(owners) != 1:
            raise ValueError(f"{file}: is in {len(owners)} packages, not in one; mend packages_of()")
        shares[owners[0]].append(file)
    for name, share in shares.items():
        if not share:
            raise ValueError(f"{name}: has no file")
    return shares


def is_program(path):
    return not path.is_symlink() and path.suffix != ".a" and path.read_bytes()[:4] == b"\x7fELF"


def shared_libraries_of(root, work):
    """The packages of the libraries that programs below `root` need, with versions, as dpkg-shlibdeps finds them."""
    programs = [f"-e{path}" for path in sorted(root.rglob("*")) if path.is_file() and is_program(path)]
    if not programs:
        return ""
    (work / "debian").mkdir(exist_ok=True)
    (work / "debian" / "control").write_text("Source: tokamak\n\nPackage: tokamak\nArchitecture: any\n", encoding="utf-8")
    said = subprocess.run(["dpkg-shlibdeps", "-O", *programs], cwd=work, capture_output=True, text=True, check=True).stdout
    return re.search(r"^shlibs:Depends=(.*)$", said, re.M)[1]


def control_of(package, facts, root, architecture, needed):
    fields = dict(package.fields)
    depends = ", ".join(filter(None, [fields.pop("Depends", ""), needed]))
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink()) // 1024 + 1
    fields = {"Package": package.name, "Source": "tokamak", "Version": facts.version, "Architecture": architecture,
              "Maintainer": facts.maintainer, "Installed-Size": size, "Depends": depends, **fields,
              "Section": package.section, "Priority": "optional", "Description": package.summary}
    if package.name == "tokamak":
        del fields["Source"]  # has the same name
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value) + f" {package.description}\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(0o644)


def write_documents(package, facts, root):
    folder = root / "usr" / "share" / "doc" / package.name
    write(folder / "copyright", facts.licence)
    write(folder / "changelog.gz", gzip.compress(facts.changelog.encode(), 9, mtime=0))


def write_control(package, facts, root, control):
    """The files that dpkg reads."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    sums = "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)
    write(root / "DEBIAN" / "control", control)
    write(root / "DEBIAN" / "md5sums", sums)
    if package.name == facts.library:
        soname = facts.library.removeprefix("libtokamak")
        write(root / "DEBIAN" / "shlibs", f"libtokamak {soname} {facts.library} (>= {facts.version})\n")
        write(root / "DEBIAN" / "triggers", "activate-noawait ldconfig\n")


def make(facts, stage, work, output):
    """Packs the files below `stage` (usr/...), and returns the packages' paths in `output`."""
    files = sorted(str(path.relative_to(stage)) for path in stage.rglob("*") if path.is_symlink() or path.is_file())
    packages = packages_of(facts)
    shares = distribute(files, packages)
    architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()
    made = []
    for package in packages:
        root = work / package.name
        for file in shares[package.name]:
            # Debian's zsh looks for completions of packages here.
            target = root / file.replace("share/zsh/site-functions", "share/zsh/vendor-completions")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(stage / file, target, follow_symlinks=False)
        needed = shared_libraries_of(root, work)
        write_documents(package, facts, root)
        write_control(package, facts, root, control_of(package, facts, root, architecture, needed))
        for path in [root, *root.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) and path.parent.name == "bin" else 0o644)
            os.utime(path, (facts.time, facts.time), follow_symlinks=False)
        made.append(output / f"{package.name}_{facts.version}_{architecture}.deb")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(made[-1])], check=True,
                       stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(facts.time)})
    return made
