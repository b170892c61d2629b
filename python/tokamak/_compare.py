"""Comparing outputs with references."""
import math

EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def difference(output, reference, rtol=None, atol=None):
    """What is wrong with the output, in words; None if nothing is."""
    import numpy as np

    type_name = str(output.dtype).removeprefix("torch.")
    fallback = math.sqrt(EPSILONS[type_name]) if type_name in EPSILONS else 0.0
    rtol = fallback if rtol is None else rtol
    atol = fallback if atol is None else atol
    found, wanted = _values_of(np, output), _values_of(np, reference)
    if wanted.dtype.kind not in "biuf":
        return f"the reference has elements of type {wanted.dtype}"
    if found.dtype.kind == "f" or wanted.dtype.kind == "f" or rtol or atol:
        found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    if found.shape != wanted.shape:
        return f"its shape is {found.shape}, and the reference's {wanted.shape}"
    is_close = found == wanted
    if found.dtype.kind == "f":
        with np.errstate(all="ignore"):
            is_near = np.abs(found - wanted) <= atol + rtol * np.abs(wanted)
        is_close |= (is_near & np.isfinite(wanted)) | (np.isnan(found) & np.isnan(wanted))
    if is_close.all():
        return None
    where = tuple(int(each) for each in np.argwhere(~is_close)[0])
    return (f"{int((~is_close).sum())} of {is_close.size} elements differ by more than atol={atol:.3g} and "
            f"rtol={rtol:.3g}; the first at {list(where)}: {found[where].item()!r}, and the reference "
            f"{wanted[where].item()!r}")


def _values_of(np, array):
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = (array.double() if array.is_floating_point() else array).numpy()
    elif hasattr(array, "get") and hasattr(array, "device"):
        array = array.get()  # CuPy's
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype.kind not in "biufc" else array  # bf16 of ml_dtypes
