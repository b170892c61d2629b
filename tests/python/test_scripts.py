"""Scripts written against nvFuser's FusionDefinition run when nothing but their import names tokamak."""
import pathlib
import runpy

import pytest

SCRIPTS = sorted((pathlib.Path(__file__).resolve().parent / "scripts").glob("*.py"))

NOT_YET = {"schedule_selected_tensors": "inline_at, transform_like and parallelize_like of a selection",
           "texts_of_a_fusion": "texts of the kernels"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_runs(script):
    torch = pytest.importorskip("torch", reason="the scripts make their inputs by torch")
    torch.manual_seed(0)
    if script.stem in NOT_YET:
        with pytest.raises((NotImplementedError, AttributeError)):
            runpy.run_path(str(script), run_name="__main__")
        pytest.xfail(NOT_YET[script.stem])
    runpy.run_path(str(script), run_name="__main__")
