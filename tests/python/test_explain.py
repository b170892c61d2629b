"""explain() and pictures: what they say of calls, against what is known of these."""
import dataclasses
import json
import threading
import xml.etree.ElementTree

import numpy as np
import pytest

import tokamak
import tokamak.numpy as tnp
from shared import run_in_threads
from tokamak import FusionDefinition, ParallelType, fuse

A = np.random.default_rng(0).random((32, 64), np.float32)


def softmax():
    with FusionDefinition(id="explained") as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.softmax(x, 1))
    return fd


def two_segments():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.sum(fd.ops.sum(x * 2, 0) * 3, 0))
    return fd


def test_a_softmax_is_one_kernel():
    fd = softmax()
    fd.execute([A])
    told = fd.explain()
    assert (told.name, told.device, len(told.segments), told.cuts, told.waits) == ("fusion_explained", "cpu", 1, (), ())
    assert list(told.sizes.values()) == [32, 64]
    segment, = told.segments
    assert segment.kind == "inner_persistent" and segment.launches == 1
    assert {each.kind for each in segment.refusals} == {"no_op", "transpose", "pointwise", "inner_outer_persistent",
                                                        "outer_persistent", "reduction"}
    assert all(each.reason for each in segment.refusals)
    assert segment.bytes_read == segment.bytes_written == A.nbytes
    # max, sum, subtract, exp and divide of each element, of which the broadcasts are none
    assert segment.flops == 5 * A.size
    kernel, = segment.kernels
    assert kernel.origin in ("compiled", "disk") and kernel.compile_seconds > 0
    assert kernel.parameters and kernel.grid[0] >= 1
    assert kernel.reason in {each.reason for each in kernel.compilations}
    assert told.bytes_read == A.nbytes and told.output_bytes == A.nbytes and told.peak_bytes >= A.nbytes
    assert told.lower_seconds > 0 and told.compile_seconds == kernel.compile_seconds


def test_cuts_have_reasons():
    fd = two_segments()
    told = fd.explain([A])
    assert len(told.segments) >= 2
    assert [(each.producer, each.consumer) for each in told.cuts] == [
        (i, i + 1) for i in range(len(told.segments) - 1)]
    assert all("as one kernel: " in each.reason for each in told.cuts)
    assert told.intermediate_bytes > 0


def test_calls_say_what_was_new():
    fd = softmax()
    fd.execute([A])
    fd.execute([A])
    fd.execute([A[:, :32].copy()])
    fd.execute([A[:16, :32].copy()])
    assert [(each.inputs, each.reason) for each in fd.explain().new_calls] == [
        ("f32[32, 64]", "first call"), ("f32[32, 32]", "input 0: axis 1 had 64 elements, has 32"),
        ("f32[16, 32]", "input 0: axis 0 had 32 elements, has 16")]
    assert fd.explain().known_calls >= 1


def test_strides_and_numbers_are_told():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        n = fd.define_scalar(tokamak.DataType.Int)
        fd.add_output(fd.ops.abs(x) * n)
    fd.execute([A, 2])
    fd.execute([np.asfortranarray(A), 2])
    reasons = [each.reason for each in fd.explain().new_calls]
    assert reasons == ["first call", "input 0: its strides were (64, 1), are (1, 32)"]
    fd.execute([np.asfortranarray(A), 3])
    calls = fd.explain().new_calls
    assert len(calls) == 2  # a number that is an argument of kernels makes no plan
    assert calls[1].inputs == "f32[32, 64] with strides (1, 32), 2"


@pytest.mark.parametrize("device", ["cpu", "interpreter"])
def test_rows_of_partial_sums_stop_making_kernels(device):
    with FusionDefinition() as fd:
        given = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.softmax(fd.ops.cos(given) * 19, 1)
        fd.add_output(y)
        fd.add_output(fd.ops.sum(y * given, 0))
    program = tokamak.compile(fd, device)
    for rows in (5, 6, 7, 8, 9, 2, 1, 0, 3, 33, 129, 12):
        x = np.random.default_rng(rows).standard_normal((rows, 24))
        e = np.exp(19 * np.cos(x))
        e /= e.sum(1, keepdims=True)
        y, sums = program(x.astype(np.float32))
        np.testing.assert_allclose(y, e, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(sums, (e * x).sum(0), rtol=1e-4, atol=1e-4)
    segment = program.explain([x.astype(np.float32)]).segments[0]
    assert segment.kind == "inner_outer_persistent" and len(segment.kernels[0].compilations) <= 6


def test_compilations_are_those_of_all_sizes():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        fd.add_output(fd.ops.softmax(fd.ops.cos(x) * 17, 1))
    fd.execute([A])
    fd.execute([A[:, :16].copy()])
    kernel, = fd.explain().segments[0].kernels
    assert "was 64, is 16" in kernel.reason
    assert [each.reason for each in kernel.compilations] == ["first kernel of this program", kernel.reason]


def test_texts_and_json():
    fd = two_segments()
    fd.execute([A])
    told = fd.explain([A])
    text = str(told)
    assert text == repr(told)
    for words in ("segments", "why they are apart", "because", "parameters: ", "calls that made a plan", "memory: "):
        assert words in text
    assert max(map(len, text.splitlines())) <= 130
    again = json.loads(told.to_json())
    assert again == told.to_dict()
    assert again["segments"][0]["bytes_read"] == told.segments[0].bytes_read and again["peak_bytes"] == told.peak_bytes
    with pytest.raises(dataclasses.FrozenInstanceError):
        told.name = "other"


def test_products_count_their_flops():
    with FusionDefinition() as fd:
        x, y = (fd.define_tensor([-1, -1], contiguity=True) for _ in range(2))
        fd.add_output(fd.ops.matmul(x, y))
    told = fd.explain([A, A.T.copy()])
    assert told.flops == 2 * 32 * 64 * 32
    segment, = told.segments
    assert "matmul" in segment.form and segment.kind is None


def test_schedules_by_hand_are_one_kernel():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1], contiguity=True)
        y = fd.ops.exp(x) * 2
        fd.add_output(y)
    fd.sched.split(y, 0, 4)
    fd.sched.parallelize(y, 0, ParallelType.grid_x)
    fd.sched.inline_most()
    fd.execute([A])
    by_hand, usual = fd.explain(), fd.explain([A], override_user_schedule=True)
    assert len(by_hand.segments[0].kernels) == 1 and by_hand.segments[0].kind is None
    assert not by_hand.segments[0].kernels[0].parameters
    assert usual.segments[0].kind == "pointwise"
    assert usual.other_programs == ("cpu",)


def test_without_a_call_there_is_nothing_to_explain():
    for ask in (FusionDefinition.explain, FusionDefinition.profile, FusionDefinition.last_repro_script):
        with pytest.raises(tokamak.Error, match="never been executed|no call was measured"):
            ask(softmax())


def test_wrong_inputs_are_refused():
    with pytest.raises(tokamak.BindError):
        softmax().explain([A, A])
    with pytest.raises(tokamak.BindError):
        softmax().explain([A[0]])


def test_fused_functions_explain():
    @fuse
    def scaled(x, n):
        return tnp.exp(x) * n if x.ndim == 2 else x + n

    with pytest.raises(TypeError):
        scaled.explain()
    scaled(A, 2)
    assert scaled.explain().segments[0].kind == "pointwise"
    assert scaled.explain().other_programs == ()
    scaled(A[0], 2)
    with pytest.raises(ValueError, match="scaled has 2 programs: explain"):
        scaled.explain()
    told = scaled.explain(A, 3)
    assert len(told.other_programs) == 1 and "Tensor(" in told.other_programs[0]


def test_any_thread_may_explain():
    fd, texts, lock = softmax(), [], threading.Lock()
    fd.execute([A])

    def work(rows):
        told = fd.explain([A[:rows].copy()])
        with lock:
            texts.append(list(told.sizes.values())[0])

    run_in_threads(work, range(1, 9))
    assert sorted(texts) == list(range(1, 9))


# --- pictures ---


def elements(page):
    return xml.etree.ElementTree.fromstring(f"<all>{page}</all>")


def test_html_is_well_formed_and_keeps_to_itself():
    fd = two_segments()
    fd.execute([A])
    page = fd._repr_html_()
    tree = elements(page)
    tags = {each.tag.split("}")[-1] for each in tree.iter()}
    assert tags >= {"svg", "details", "summary", "pre"}
    assert not tags & {"style", "script", "link", "iframe"}
    ids = [each.get("id") for each in tree.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    others = [each.get("id") for each in elements(fd._repr_html_()).iter() if each.get("id")]
    assert not set(ids) & set(others)
    text = " ".join(tree.itertext())
    for words in ("The fusion", "Segments", "The host program", "The plan of the last call", "why they are apart",
                  "Source of kernel 0"):
        assert words in text


def test_html_before_a_call_and_of_what_is_not_finished():
    text = softmax()._repr_html_()
    assert "The fusion" in text and "plan of the last call" not in text
    fd = FusionDefinition()
    fd.define_tensor([-1])
    assert "not finished" in fd._repr_html_()


def test_html_escapes_names():
    with FusionDefinition(id="<b>") as fd:
        fd.add_output(fd.define_tensor([-1]) * 2)
    page = fd._repr_html_()
    assert "<b>" not in page
    elements(page)


def test_html_tells_what_cannot_be_compiled():
    with FusionDefinition() as fd:
        x = fd.define_tensor([-1, -1])
        y = fd.ops.sum(x, 0)
        fd.add_output(fd.ops.sum(y, 0))
    fd.sched.parallelize(y, 0, ParallelType.grid_x)
    page = fd._repr_html_()
    elements(page)
    assert "As text" in page


def test_explanations_have_html_and_count_in_english():
    told = softmax().explain([A])
    text = " ".join(elements(told._repr_html_()).itertext())
    assert f"{told.name} on {told.device}" in text and "inner_persistent" in text
    assert "1 segment, 1 step on 1 stream, " in str(told)
    assert "2 segments, 2 steps on " in str(two_segments().explain([A]))


def test_fused_functions_have_html():
    @fuse
    def shifted(x):
        return tnp.exp(x) + 1

    assert "0 programs" in shifted._repr_html_()
    shifted(A)
    elements(shifted._repr_html_())


def test_programs_explain():
    program = tokamak.compile(softmax())
    with pytest.raises(tokamak.Error, match="The program has never been called"):
        program.explain()
    program(A)
    assert program.explain().segments[0].kind == program.explain([A[:4].copy()]).segments[0].kind == "inner_persistent"
    host = tokamak.compile(program.host_text())
    with pytest.raises(tokamak.UnsupportedError, match="explain: .* is a host program, or comes from a file"):
        host.explain([A])
