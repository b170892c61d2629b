"""The package on machines without a C compiler, and with the one that the extra tokamak[compiler] brings."""
import importlib.util
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

from tokamak import _compiler

HERE = pathlib.Path(__file__).resolve().parent
SUITE = sorted((HERE.parents[1] / "examples" / "suite").glob("*.fusion"))
PROGRAM = """
import os, numpy as np, tokamak
with tokamak.FusionDefinition() as fd:
    x = fd.define_tensor([-1, -1], contiguity=True)
    n = fd.define_scalar(tokamak.DataType.Double)
    y = fd.ops.sinh(x) * n
    fd.add_output(fd.ops.softmax(y, 1))
    fd.add_output(fd.ops.var_mean(y, [0])[0])
    fd.add_output(fd.ops.matmul(y, fd.ops.permute(x, [1, 0])))
x = np.linspace(-2, 2, 77 * 33, dtype=np.float32).reshape(77, 33)
softmax, variance, product = fd.execute([x, 0.5])
y = np.sinh(x.astype(np.float64)) * 0.5
np.testing.assert_allclose(softmax, np.exp(y) / np.exp(y).sum(1, keepdims=True), rtol=1e-5)
np.testing.assert_allclose(variance, y.var(0, ddof=1), rtol=1e-5)
np.testing.assert_allclose(product, y @ x.T, rtol=1e-4, atol=1e-4)
print(os.environ.get("TOKAMAK_CC"))
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def run(tmp_path, *words, **variables):
    """What Python prints in a process without any program in PATH, and what it says beside that."""
    environment = {name: value for name, value in os.environ.items() if name not in ("TOKAMAK_CC", "PATH")}
    environment |= {"PATH": "/nowhere", "TOKAMAK_CACHE_DIR": str(tmp_path / "cache"), **variables}
    done = subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, timeout=200, env=environment,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def ziglang(tmp_path, monkeypatch):
    """A package of that name with a zig that only tells that it was called, in a machine without a compiler."""
    program = script(tmp_path / "site" / "ziglang" / "zig", "#!/bin/sh\nexit 1\n")
    (program.parent / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TOKAMAK_CC", "restored")
    monkeypatch.delenv("TOKAMAK_CC")
    importlib.invalidate_caches()
    return program


def test_the_extra_is_offered_where_there_is_no_compiler(ziglang):
    _compiler.offer_compiler()
    assert os.environ["TOKAMAK_CC"] == str(ziglang)


def test_a_compiler_that_was_named_or_is_there_stays(ziglang, tmp_path, monkeypatch):
    script(tmp_path / "bin" / "clang", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _compiler.offer_compiler()
    assert "TOKAMAK_CC" not in os.environ
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("TOKAMAK_CC", "mine")
    _compiler.offer_compiler()
    assert os.environ["TOKAMAK_CC"] == "mine"


def test_what_cannot_be_run_is_not_offered(ziglang):
    ziglang.chmod(0o600)
    if os.access(ziglang, os.X_OK):
        pytest.skip("this user may run every file")
    _compiler.offer_compiler()
    assert "TOKAMAK_CC" not in os.environ


def test_without_any_compiler_the_librarys_own_loops_run(tmp_path):
    told, said = run(tmp_path, "-c", PROGRAM, TOKAMAK_CC="/none/cc")
    assert told.strip() == "/none/cc" and "run op by op" in said
    told, _ = run(tmp_path, "-m", "tokamak", "info", TOKAMAK_CC="/none/cc")
    assert "kernels of the cpu: none, segments run op by op: C compiler: '/none/cc'" in told


def test_the_extra_compiles(tmp_path):
    """By a script that stands for zig, and calls the machine's compiler."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to stand in")
    program = script(tmp_path / "site" / "ziglang" / "zig", f"""#!/bin/sh
PATH='{os.environ["PATH"]}'; export PATH
[ "$1" = cc ] || exit 1
shift
for a; do
  shift
  case $a in -mcpu=baseline|-fno-sanitize=undefined) ;; *) set -- "$@" "$a";; esac
done
echo called >> "$0.notes"
exec cc "$@"
""")
    (program.parent / "__init__.py").write_text("")
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    told, said = run(tmp_path, "-c", PROGRAM, PYTHONPATH=path)
    assert told.strip() == str(program) and "op by op" not in said
    assert (program.parent / "zig.notes").read_text().count("called") > 5
    told, _ = run(tmp_path, "-m", "tokamak", "info", PYTHONPATH=path)
    assert f"compiled by {program} (zig cc, " in told


def zig():
    found = importlib.util.find_spec("ziglang")
    if found is None or shutil.which("zig", path=found.submodule_search_locations[0]) is None:
        pytest.skip("ziglang is not installed")
    return str(pathlib.Path(found.submodule_search_locations[0], "zig"))


def test_zig_is_found_and_compiles(tmp_path):
    program = zig()
    path = os.environ.get("PYTHONPATH", "")
    told, said = run(tmp_path, "-c", PROGRAM, PYTHONPATH=path)
    assert told.strip() == program and "op by op" not in said
    assert not list((tmp_path / "cache").rglob("*.o")), "objects of zig's own cache go with each compilation"


@pytest.mark.parametrize("file", SUITE[::4], ids=lambda file: file.stem)
def test_zig_gives_the_same_bits(file, tmp_path):
    """As the machine's compiler, and as the reference where there is none."""
    compilers = [zig()] + ([shutil.which("cc")] if shutil.which("cc") else [])
    sums = []
    for number, compiler in enumerate(compilers):
        told, _ = run(tmp_path / str(number), "-m", "tokamak", "run", str(file), "--check", TOKAMAK_CC=compiler,
                      PATH=os.environ["PATH"])
        assert ": ok" in told
        sums.append([line for line in told.splitlines() if " checksum " in line])
    assert sums[0] and all(each == sums[0] for each in sums)


def test_faults_of_compilers_that_are_known(tmp_path):
    """Programs that compilers have translated wrongly while they vectorised and peeled loops."""
    program = """
import numpy as np, tokamak
with tokamak.FusionDefinition() as fd:
    x, y = (fd.define_tensor([64]) for _ in range(2))
    one = fd.define_scalar(1, tokamak.DataType.Int)
    flags = fd.ops.cast(x, tokamak.DataType.Bool)
    fd.add_output(fd.ops.take_along_axis(y, fd.ops.cast(flags, tokamak.DataType.Int), 0))
    fd.add_output(fd.ops.take_along_axis(y, fd.ops.where(flags, one, one - 1), 0))
x, y = (np.arange(64) % 3).astype(np.float32), np.arange(64, dtype=np.float32)
for each in fd.execute([x, y]):
    np.testing.assert_array_equal(each, (x != 0) * y[1])
for dtype in (np.int32, np.int64, np.float64):
    for n, c in ((35, 5), (33, 3), (64, 7), (40, 9)):
        a = np.arange(7 * n * c).reshape(7, n, c).astype(dtype)
        with tokamak.FusionDefinition() as fd:
            fd.add_output(fd.ops.sum(fd.from_array(a), [1]))
        np.testing.assert_array_equal(fd.execute([a])[0], a.sum(1))
with tokamak.FusionDefinition() as fd:
    fd.add_output(fd.ops.iota(5, 0, -1, tokamak.DataType.Float))
zero = fd.execute([])[0][0]
assert zero == 0 and not np.signbit(zero)
"""
    run(tmp_path, "-c", program, TOKAMAK_CC=zig())


def test_the_extra_is_told_in_the_metadata():
    metadata = pytest.importorskip("importlib.metadata")
    try:
        needs = metadata.requires("tokamak") or []
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed from a wheel")
    assert any(each.startswith("ziglang") and "compiler" in each for each in needs)
