"""Scripts written against nvFuser's FusionDefinition run when nothing but their import names tokamak."""
import pathlib
import runpy

import pytest

SCRIPTS = sorted((pathlib.Path(__file__).resolve().parent / "scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs(script):
    torch = pytest.importorskip("torch", reason="the scripts make their inputs by torch")
    torch.manual_seed(0)
    runpy.run_path(str(script), run_name="__main__")
