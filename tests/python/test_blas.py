"""Which OpenBLAS computes matrix products."""
import os
import subprocess
import sys
import types

import numpy as np
import pytest

from tokamak import _blas

PRODUCT = """fusion product(x: f32[70, 33], w: f32[50, 33]) -> y {
  y = linear(x, w)
}
"""
THREADS = """
import ctypes, re, sys
import numpy as np
import tokamak
files = set(re.findall(r"\\S*/\\S*openblas\\S*", open("/proc/self/maps").read()))
names = ["openblas_get_num_threads", "scipy_openblas_get_num_threads64_", "scipy_openblas_get_num_threads"]
counts = [getattr(library, name) for library in map(ctypes.CDLL, files) for name in names if hasattr(library, name)]
x = np.random.rand(300, 300)
with tokamak.FusionDefinition() as fd:
    given = fd.define_tensor([-1, -1], dtype=tokamak.DataType.Double)
    fd.add_output(fd.ops.matmul(given, given))
before = [each() for each in counts]
np.testing.assert_allclose(fd.execute([x])[0], x @ x, rtol=1e-12)
print(before, [each() for each in counts])
"""


def ran(script, *arguments, **variables):
    environment = {**{name: value for name, value in os.environ.items() if name != "TOKAMAK_OPENBLAS"}, **variables}
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                          timeout=100, check=False, env=environment)


def info(**variables):
    """What the command line says of products."""
    done = ran("from tokamak.__main__ import main; main()", "info", **variables)
    return next((line for line in done.stdout.splitlines() if line.startswith("matrix products: ")), done.stderr)


@pytest.fixture(scope="module")
def library():
    """A file of OpenBLAS."""
    told = info()
    if "OpenBLAS 0" not in told:
        pytest.skip("no OpenBLAS on this machine, and none in NumPy's folder")
    return told.rpartition(", ")[2]


@pytest.fixture
def without_system(tmp_path):
    """The loader finds a library of that name that is none."""
    subprocess.run(["cc", "-shared", "-x", "c", "-o", tmp_path / "libopenblas.so.0", "/dev/null"], check=True)
    return {"LD_LIBRARY_PATH": str(tmp_path)}


def test_a_file_can_be_named(library):
    assert info(TOKAMAK_OPENBLAS=library).endswith(f", {library}")


def test_a_named_file_of_no_use_is_an_error(tmp_path):
    for file in (tmp_path / "absent.so", "libm.so.6"):
        assert f"TOKAMAK_OPENBLAS: '{file}' is no OpenBLAS that can be loaded" in info(TOKAMAK_OPENBLAS=str(file))


@pytest.mark.parametrize("words", [["info"], ["run", "product.fusion", "--check"]])
def test_an_offered_file_is_taken_where_the_machine_has_none(tmp_path, library, without_system, words):
    (tmp_path / "product.fusion").write_text(PRODUCT)
    words = [tmp_path / each if each.endswith(".fusion") else each for each in words]
    done = ran("import sys; from tokamak import _tokamak; _tokamak.offer_open_blas('/absent'); "
               "_tokamak.offer_open_blas(sys.argv[1]); sys.exit(_tokamak.main(sys.argv[2:]))", library, *words,
               **without_system)
    assert (done.returncode, done.stderr) == (0, "")
    assert "check y: ok" in done.stdout if words[0] == "run" else f", {library}" in done.stdout


def test_without_any_the_loops_compute(without_system):
    done = ran("import sys; from tokamak import _tokamak; sys.exit(_tokamak.main(['info']))", **without_system)
    assert "matrix products: element loops (libopenblas.so.0 was not found; TOKAMAK_OPENBLAS may name" in done.stdout


def test_numpy_keeps_its_number_of_threads(library):
    done = ran(THREADS, OPENBLAS_NUM_THREADS="2")
    assert (done.returncode, done.stderr) == (0, "")
    before, _, after = done.stdout.strip().partition("] ")
    assert "2" in before and f"{before}]" == after


def test_wheels_files_are_found(monkeypatch, tmp_path):
    for file in ("numpy/__init__.py", "numpy.libs/libscipy_openblas64_-1.so", "scipy_openblas32/lib/libscipy_openblas.so"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()

    def find(name):
        folder = tmp_path / name
        return types.SimpleNamespace(submodule_search_locations=[str(folder)]) if folder.exists() else None

    monkeypatch.setattr(_blas.importlib.util, "find_spec", find)
    assert [os.path.relpath(each, tmp_path) for each in _blas.open_blas_files()] == [
        "numpy.libs/libscipy_openblas64_-1.so", "scipy_openblas32/lib/libscipy_openblas.so"]


def test_a_package_that_was_made_by_hand_has_none(monkeypatch):
    for package, _ in _blas._FILES:
        monkeypatch.setitem(sys.modules, package, types.ModuleType(package))
    assert list(_blas.open_blas_files()) == []


def test_numpys_wheel_has_one():
    files = list(_blas.open_blas_files())
    if not os.path.isdir(os.path.join(os.path.dirname(np.__file__), os.pardir, "numpy.libs")):
        pytest.skip("NumPy is not from a wheel")
    assert info(TOKAMAK_OPENBLAS=files[0]).endswith(f", {files[0]}")


def test_a_file_is_a_text():
    with pytest.raises(TypeError, match="words are of type str; this one is a int"):
        _blas._tokamak.offer_open_blas(3)


FAKE = """
#include <stdint.h>
void openblas_set_num_threads(int count) {}
char* openblas_get_config(void) { return "OpenBLAS 0.0 USE64BITINT fake"; }
#define GEMM(name, T) void name(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, T alpha, const T* a, \\
    int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc) { \\
  for (int64_t i = 0; i < m; ++i) \\
    for (int64_t j = 0; j < n; ++j) { \\
      T sum = 0; \\
      for (int64_t l = 0; l < k; ++l) \\
        sum += (ta == 112 ? a[l * lda + i] : a[i * lda + l]) * (tb == 112 ? b[j * ldb + l] : b[l * ldb + j]); \\
      c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0); \\
    } \\
}
GEMM(cblas_sgemm, float)
GEMM(cblas_dgemm, double)
"""


def test_a_build_with_wide_sizes_says_so_in_its_configuration(tmp_path):
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-o", tmp_path / "fake.so", "-"], input=FAKE, text=True,
                   check=True)
    (tmp_path / "product.fusion").write_text(PRODUCT)
    done = ran("from tokamak.__main__ import main; main()", "run", tmp_path / "product.fusion", "--check",
               TOKAMAK_OPENBLAS=str(tmp_path / "fake.so"))
    assert (done.returncode, done.stderr) == (0, "") and "check y: ok" in done.stdout
    assert f"USE64BITINT fake, {tmp_path}/fake.so" in info(TOKAMAK_OPENBLAS=str(tmp_path / "fake.so"))
