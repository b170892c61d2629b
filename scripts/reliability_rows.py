"""The rows of docs/reliability.md: what is promised (R1 to R42), what is asked, which tests show it, and how a figure
is read. scripts/reliability makes the table of them.

A test is named FOLDER.SUITE.NAME, as ctest does, without what parametrised tests add; `*` stands for anything. What is
not a GoogleTest is named as ctest or lit name it; `asan:` begins the names of the run with sanitizers.
"""
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Callable


@dataclass
class Ran:
    """Tests that passed. The pattern is looked for in the output of each; its numbers are added up."""
    tests: str
    pattern: str = ""
    says: Callable[[SimpleNamespace], str] = lambda n: ""


@dataclass
class Kept:
    """A file of results. `says` is given what the JSON holds; a list where each line is an object."""
    file: str
    says: Callable[[dict | list], str]


@dataclass
class Row:
    id: str
    promise: str
    gate: str  # what is asked of scripts/test
    shown_by: list[Ran]
    release: str = ""  # what is asked of scripts/release-test or of a GPU
    kept: tuple[Kept, ...] = ()


RESULTS = "tests/fuzz/results/"
GPU = "benchmarks/results/"
COUNTED_ONE_KERNEL = r"(?P<programs>\d+) programs, (?P<refused>\d+) cannot be one kernel"
PROGRAMS = r"(?P<programs>\d+) programs \((?P<streamed>\d+) streamed\).* (?P<runs>\d+) runs"


def total(lines, key):
    return sum(line.get(key, 0) for line in lines)


def kernels_for(what):
    return lambda n: f"{n.programs - n.refused:,} kernels of {n.programs:,} programs for {what}"


def runs_of_programs(n):
    return f"{n.programs:,} programs ({n.streamed:,} streamed), {n.runs:,} runs"


def contexts(results):
    return (f"{results['kernels']:,} kernels of {results['programs']:,} programs from seed {results['first_seed']:,}: "
            f"{results['problems']} problems")


def failed_tools(lines):
    wrong = sum(line["exit"] != 0 for line in lines)
    return f"{len(lines)} runs under {len({line['tool'] for line in lines})} tools, {wrong} with errors"


def random_kernels(lines):
    return (f"{total(lines, 'kernels'):,} kernels of {total(lines, 'programs'):,} programs in {len(lines)} runs; "
            f"processes that failed: {total(lines, 'processes that found something wrong')}")


def same_bits(lines):
    return ", ".join(f"{line['programs']:,} programs, {line['runs']:,} runs, "
                     f"{line['processes that found something wrong']} differences"
                     for line in lines if line["gate"] == "R13")


def capsules(lines):
    return "on a GPU " + " and ".join(line["said"].split(":")[0].replace("100000", "100,000") for line in lines
                                      if line.get("what") == "capsules_on_the_gpu")


def on_gpus(name, says):
    """The results of scripts/gpu on each kind of GPU that was measured."""
    return tuple(Kept(f"{GPU}{name}_{gpu}.json", says) for gpu in ("h100", "h200"))


def passed(*tests):
    return [Ran(each) for each in tests]


ROWS = [
    Row("R1", "compiled programs equal the reference: random fusions under random schedules, on the interpreter",
        "2,000 x 4, 0 mismatches",
        [Ran("fuzz.KernelPrograms.InterpretedKernelsAgreeWithTheReference", COUNTED_ONE_KERNEL,
             kernels_for("a processor")),
         Ran("fuzz.KernelPrograms.InterpretedKernelsForGpusAgreeWithTheReference", COUNTED_ONE_KERNEL,
             kernels_for("a GPU")),
         Ran("fuzz.KernelPrograms.InterpretedKernelsInSmallBlocksAgreeWithTheReference", COUNTED_ONE_KERNEL,
             kernels_for("a GPU in small blocks")),
         Ran("fuzz.IllegalSchedules.AreRefusedByNameOrComputeTheReference",
             r"(?P<sequences>\d+) sequences, (?P<illegal>\d+) illegal; (?P<commands>\d+) commands, (?P<refused>\d+) "
             r"refused;.* (?P<kernels>\d+) kernels compared.*; (?P<sentences>\d+) sentences",
             lambda n: f"{n.kernels:,} kernels of {n.sequences:,} sequences of {n.commands:,} commands, "
                       f"{n.illegal:,} with something illegal; {n.refused:,} commands refused by {n.sentences:,} "
                       "sentences")],
        "1,000,000 pairs, 0 mismatches",
        (Kept(RESULTS + "random_kernels.json", lambda d: f"{d['pairs']:,} pairs, {d['mismatches']} mismatches"),)),
    Row("R2", "the same for compiled kernels: programs of 1 to 120 ops, all types, every remainder by a vector's lanes",
        "400 kernels",
        [Ran("fuzz.CompiledKernels.AgreeWithTheReferenceAndBetweenCompilers",
             r'"programs": (?P<programs>\d+),\s+"kernels": (?P<kernels>\d+),\s+"composites": (?P<composites>\d+)'
             r'[\s\S]*"ops": (?P<ops>\d+)[\s\S]*_of_64": (?P<remainders>\d+)[\s\S]*"mismatches": (?P<wrong>\d+)',
             lambda n: f"{n.kernels:,} kernels ({n.composites} of composites) of {n.ops:,} ops, {n.remainders} of 64 "
                       f"remainders, {n.wrong} mismatches"),
         Ran("fuzz.StreamPrograms.OfCompiledKernelsGiveTheReferencesResults", PROGRAMS, runs_of_programs),
         Ran("fuzz.StreamPrograms.OfKernelsForGpusGiveTheReferencesResults", PROGRAMS, runs_of_programs),
         Ran("fuzz.StreamPrograms.OfManyOpsAsKernelsForGpusGiveTheReferencesResults", PROGRAMS, runs_of_programs),
         Ran("fuzz.CommandedPrograms.GiveTheReferencesResultsOrAreRefused",
             r"(?P<programs>\d+) programs, (?P<updating>\d+) update inputs, (?P<commands>\d+) commands, (?P<refused>\d+)",
             lambda n: f"{n.programs:,} programs under {n.commands:,} commands by hand, {n.updating} of them in place, "
                       f"{n.refused} refused")],
        "20,000 kernels",
        (Kept(RESULTS + "compiled_kernels.json",
              lambda d: f"{d['kernels']:,} kernels, {d['mismatches']} mismatches"),)),
    Row("R3", "the same on a GPU", "", [Ran("fuzz.KernelPrograms.KernelsAgreeOnTheGpu")],
        "50,000 kernels (`scripts/gpu random`)",
        on_gpus("random_kernels", random_kernels)),
    Row("R4", "no choice changes a result: schedule, segmentation, widths, index type, streams, layouts", "500 groups",
        [Ran("fuzz.KernelPrograms.ChoicesDoNotChangeResults",
             r"(?P<groups>\d+) groups of choices, (?P<kernels>\d+) kernels.* (?P<narrow>\d+) with indices of few",
             lambda n: f"{n.groups:,} groups, {n.kernels:,} kernels, {n.narrow:,} with indices of few bits"),
         Ran("fuzz.KernelPrograms.IndicesOfTooFewBitsAreSeen", r"(?P<seen>\d+) of (?P<kernels>\d+) kernels whose",
             lambda n: f"{n.seen} of {n.kernels} kernels whose indices lack two bits are seen"),
         Ran("fuzz.StreamPrograms.GiveTheReferencesResultsInEveryMode", PROGRAMS, runs_of_programs)],
        "50,000 groups"),
    Row("R5", "every rewrite rule of scalars is right for all values in [-8, 8] and 10^5 random ones, and idempotent",
        "all rules",
        passed("unit.ScalarRules.*", "unit.ScalarSimplifier.*"), "10^7 random expressions"),
    Row("R6", "the verifier runs after every pass; each invariant has a mutant", "every invariant",
        passed("*.Verifier.EveryInvariantKillsAMutant", "*.HostVerifier.EveryInvariantKillsAMutant",
               "*.VerifyKernel.EachInvariantKillsItsMutants", "*.VerifyKernel.RunsAfterPasses") +
        [Ran("fuzz.LoweredPrograms.EndWithoutInternalErrors",
             r'"programs": (?P<programs>\d+)[\s\S]*"kernels": (?P<kernels>\d+)[\s\S]*"problems": (?P<problems>\d+)',
             lambda n: f"{n.programs:,} programs of up to 60 ops, {n.kernels:,} kernels verified after each pass, "
                       f"{n.problems} problems")],
        "1,000 mutants; 20,000 programs",
        (Kept(RESULTS + "lowered_programs.json",
              lambda d: f"{d['programs']:,} programs, {d['kernels']:,} kernels, {d['problems']} problems"),)),
    Row("R7", "each pass keeps the meaning", "200 fusions",
        [Ran("fuzz.KernelPasses.KeepTheMeaning", r"(?P<kernels>\d+) kernels run",
             lambda n: f"{n.kernels:,} kernels before and after passes"),
         Ran("fuzz.GraphPasses.KeepTheMeaningOfRandomPrograms", r"[\w-]+ changed (?P<changed>\d+) of \d+ programs",
             lambda n: f"passes over fusions changed {n.changed:,} programs")],
        "100,000 pass instances"),
    Row("R8", "no access out of bounds, uninitialised read, race or divergent barrier in any kernel",
        "1,000 mutants, every true one reported ([kernel_mutants.md](kernel_mutants.md))",
        [Ran("fuzz.KernelMutants.EveryTrueOneIsReported",
             r"\| all \| (?P<mutants>\d+) \|.* (?P<missed>\d+) \| (?P<equivalent>\d+) \|",
             lambda n: f"{n.mutants:,} mutants, {n.missed} true ones missed, {n.equivalent} change nothing")]),
    Row("R9", "the same under compute-sanitizer", "", [], "300 kernels, 0 errors (`scripts/gpu sanitize`)",
        on_gpus("sanitize", failed_tools)),
    Row("R10", "host programs are free of races: a happens-before checker proves each one",
        "2,000 mutants, 5,000 programs without a false alarm, 1,000 compared with all orders",
        [Ran("host.HostCheckerProperty.RaisesNoFalseAlarmOnCorrectPrograms",
             r"(?P<programs>\d+) programs, .* (?P<alarms>\d+) false alarms",
             lambda n: f"{n.programs:,} programs, {n.alarms} false alarms"),
         Ran("host.HostCheckerProperty.ReportsExactlyTheTrueMutantsOfCorrectPrograms",
             r"  \w[\w ]+ +(?P<mutants>\d+), true +(?P<true>\d+), reported +(?P<reported>\d+),",
             lambda n: f"{n.mutants:,} mutants, {n.true:,} true ones, {n.reported:,} reported"),
         Ran("host.HostCheckerProperty.AgreesWithEveryOrderOfSmallPrograms",
             r"(?P<programs>\d+) programs, (?P<races>\d+) with races, (?P<orders>\d+) orders",
             lambda n: f"{n.programs:,} programs, {n.orders:,} orders"),
         Ran("fuzz.ProgramOrders.AreFreeOfRacesAndTheirTrueMutantsAreReported",
             r"(?P<programs>\d+) programs, (?P<lists>\d+) lists judged, (?P<mutants>\d+) mutants, (?P<true>\d+) true",
             lambda n: f"{n.programs:,} drawn programs, {n.mutants:,} mutants, {n.true:,} true ones")],
        "10^5 programs"),
    Row("R11", "aliases and lifetimes in host programs are safe", "part of R10",
        [Ran("host.HostCheckerProperty.ReportsExactlyTheTrueMutantsOfCorrectPrograms",
             r"  (?:free early|shift slice) +(?P<mutants>\d+), true +(?P<true>\d+), reported +(?P<reported>\d+),",
             lambda n: f"early frees and shifted slices: {n.mutants:,} mutants, {n.true:,} true ones, {n.reported:,} "
                       "reported"), *passed("host_run.Aliases.*", "host_run.GivenOutput*.*")]),
    Row("R12", "results are within their error bounds against float64", "0 violations",
        [Ran("numerics.*_against_numpy", r"(?P<results>\d+) results compared, (?P<wrong>\d+) wrong",
             lambda n: f"{n.results:,} results against NumPy and SciPy, {n.wrong} wrong"),
         *passed("device_code.FunctionAccuracy.*", "device_code.CudaAccuracy.*")]),
    Row("R13", "100 runs give the same bits", "200 programs on the processor",
        [Ran("fuzz.StreamPrograms.GiveTheSameBitsAHundredTimes", PROGRAMS, runs_of_programs)],
        "2,000 programs on a GPU (`scripts/gpu gates`)",
        on_gpus("gates", same_bits)),
    Row("R14", "every output element is written: buffers are poisoned before every run", "always",
        passed("device.CpuDevice.FreshMemoryIsPoisonedWithNotANumber")),
    Row("R15", "bad input gives a typed error, under address and undefined behaviour sanitizers", "10^5 inputs",
        [Ran("asan:fuzz.[a-z]*", r"number_of_executed_units: (?P<inputs>\d+)",
             lambda n: f"{n.inputs:,} inputs through {n.tests} targets"),
         Ran("fuzz.KernelText.DamagedTextsAreRefusedOrRead", r"(?P<texts>\d+) damaged texts",
             lambda n: f"{n.texts:,} damaged kernels"),
         Ran("fuzz.HostMutants.RunOrAreRefused", r"(?P<mutants>\d+) mutants of host programs, (?P<ran>\d+) ran",
             lambda n: f"{n.mutants:,} mutants of host programs, {n.ran:,} of them run"),
         *passed("host_run.BadCall*.*")], "10^7 inputs"),
    Row("R16", "every error message is reached by a test",
        "100 % ([unreached](../tests/machinery/unreached_errors.txt))",
        [Ran("scripts/error_coverage.py", r"(?P<reached>\d+) of (?P<all>\d+) reached",
             lambda n: f"{n.reached} of {n.all} messages")], "100 %"),
    Row("R17", "DLPack: each deleter runs once, after the work; read-only stays so; streams wait by events",
        "10^5 arrays",
        [Ran("fuzz.DlpackCapsules.AreDeletedOnceAndReadBefore", r"(?P<arrays>\d+) capsules",
             lambda n: f"{n.arrays:,} arrays"), *passed("device.Dlpack.*")],
        "numpy, torch, cupy, jax",
        on_gpus("gates", capsules)),
    Row("R18", "out of memory anywhere is a typed error, and the same call then works", "20 programs",
        passed("host_run.Exhaustion.*", "device.CudaMemory.*"), "200 programs"),
    Row("R19-24",
        "the kernel cache gives no wrong kernel, whatever is damaged, killed, parallel, full or another user's",
        "10^4 flipped bits, every truncation, every step", passed("compile.CacheAttacks.*", "compile.CacheEntry.*"),
        "10^6 flips, 64 processes"),
    Row("R25", "a compiler that hangs, crashes or grows too large is a typed error; without one segments run op by op",
        "5 pathological compilers",
        [*passed("compile.PathologicalCompilers.*"),
         Ran("fuzz.OpByOpPrograms.GiveTheReferencesResults", PROGRAMS, runs_of_programs)], "20"),
    Row("R26", "a rank that dies is a typed error on every survivor within 2 s, which names it and the operation",
        "each point of each operation in process; 60 processes killed over NCCL's sockets, 60 over sockets, 6 under "
        "mpirun",
        [*passed("dist.LocalCommunicators.ADeathAtEachPointOfEachOperationIsTheSameErrorOnEverySurvivor",
                 "dist.LocalCommunicators.RandomDeathsInRandomSequencesLeaveNobodyWaiting",
                 "dist.MpiCommunicators.AnErrorOfMpiIsOneOfItsRankAndTheOthersAreTold",
                 "dist.Bootstrap.AKilledRankIsATypedErrorOnAllWithinTwoSeconds"),
         Ran("dist.NcclProcesses.AKilledRankIsATypedErrorWithinTwoSecondsThatNamesItAndTheOperation",
             r"(?P<deaths>\d+) deaths; the survivors ended after (?P<most>\d+) ms",
             lambda n: f"{n.deaths} processes killed over NCCL, survivors done after {n.most} ms"),
         Ran("mpi.deaths", r"(?P<deaths>\d+) deaths, 0 hangs, .* operation in (?P<named>\d+)",
             lambda n: f"{n.deaths} killed under mpirun, 0 hangs, 0 processes left, the operation named in {n.named}")],
        "60 kills per transport; 60 on 2 GPUs (`scripts/gpu`)"),
    Row("R27", "a rank that hangs is a typed error within the time-out and 2 s, which names it and the operation",
        "each transport; a process that is stopped",
        [*passed("dist.TransportTest.ARankThatDoesNotComeInTimeIsNamed", "dist.TransportTest.ARankThatNeverCameIsNamed",
                 "dist.TransportTest.AnExchangeThatARankDoesNotComeToEndsInTime",
                 "dist.LocalCommunicators.ARankThatHangsInAnOperationIsNamed", "dist.MpiCommunicators.A*Stopped*",
                 "dist.NcclProcesses.AStoppedRankIsATypedErrorAtTheTimeOutThatNamesItAndTheOperation"),
         Ran("mpi.stops", r"(?P<stops>\d+) stops, 0 hangs, .* operation in (?P<named>\d+)",
             lambda n: f"{n.stops} stopped under mpirun, 0 hangs, 0 processes left, the operation named in {n.named}")],
        "20 under mpirun"),
    Row("R28",
        "a rank that leaves, or fails in code of its own, is a typed error on all others; they form new teams, and "
        "nothing is kept of the broken ones",
        "each transport; 1,000 breakages",
        [*passed("dist.TransportTest.ARankThatLeavesATeamTellsTheOthers",
                 "dist.TransportTest.WorkBehindAFailureTellsTheOthers",
                 "dist.TransportTest.ARankThatHasLeftTheJobIsNamed",
                 "dist.TransportTest.MemoryIsKeptUntilOthersAreOutOfIt",
                 "dist.TransportTest.AFailureOfATeamIsStickyUntilItIsFormedAnew"),
         Ran("dist.TransportTest.ManyBreakagesLeaveNeitherMemoryNorThreads", r"(?P<breakages>\d+) breakages: the heap",
             lambda n: f"{n.breakages:,} breakages on {n.tests} transports")]),
    Row("R29",
        "communications that do not match are named before they hang: before a run by proof, else when they meet",
        "1,000 mutants, 2,000 programs without a false alarm, 300 compared with all orders",
        [*passed("dist.TransportTest.AMismatch*"),
         Ran("rank_proof.RankProofProperty.RaisesNoFalseAlarmOnLegalPrograms",
             r"(?P<programs>\d+) programs, (?P<alarms>\d+) false alarms",
             lambda n: f"{n.programs:,} programs, {n.alarms} false alarms"),
         Ran("rank_proof.RankProofProperty.ReportsAllMutantsThatAreFaults",
             r"all: (?P<mutants>\d+) mutants, (?P<faults>\d+) faults",
             lambda n: f"{n.mutants:,} mutants, {n.faults:,} true ones, all reported"),
         Ran("rank_proof.RankProofProperty.AgreesWithAllOrdersOnSmallLegalPrograms",
             r"(?P<programs>\d+) programs in (?P<states>\d+) states",
             lambda n: f"{n.programs} programs in {n.states:,} states of their orders")],
        "20,000 programs"),
    Row("R30", "the last 1,024 operations of a rank are dumped by an error; no data race among ranks",
        "each transport, less than 100 ns per operation",
        [*passed("dist.OperationLog.*", "dist.TransportTest.EachRankLogsItsOperationsAndWhatTheyBecame"),
         Ran("dist.OperationLog.TakesLessThan100NanosecondsForAnOperation", r"(?P<time>\d+) ns for an operation",
             lambda n: f"{n.time} ns per operation")],
        "tests/dist under the thread and the address sanitizer (`scripts/sanitized_ranks`)"),
    Row("R31", "device faults are typed, the first cause is kept, the process leaves cleanly",
        "", passed("device.CudaFaults.*", "device.CudaGpu.AnIllegalAddress*"), "10 provoked on a GPU"),
    Row("R32", "threads compile and run at once; `scripts/test` runs these under the thread sanitizer, too",
        "0 reports", passed("host_run.ConcurrentCalls.*", "host_run.CallsInFlight.*",
                            "host_run.CallOrderAmongThreads.*", "compile.CompileQueue.*"), "10 minutes"),
    Row("R33", "time and memory of compiling are bounded for a chain of 1,000 ops, 200 segments, heavy reuse",
        "5 s, 1 GB, exponent 1.3", passed("host_run.CompileCost.*")),
    Row("R34", "memory does not grow over 10^6 mixed calls", "growth of 1 MiB at most",
        passed("host_run.HotEntry.*", "device.CudaProgram.TakesNothingFromTheHeapByTheHotEntry"), "on a GPU, too"),
    Row("R35", "streamed = unstreamed for every op form, axis, pair of axes and way of cutting, or refused",
        "exhaustive on small sizes",
        [Ran("host_run.StreamForms.*", r"(?P<streamed>\d+) streamed(?:, (?P<refused>\d+) refused)?",
             lambda n: f"{n.streamed:,} forms streamed, {n.refused:,} refused"),
         Ran("host_run.StreamFormPrograms.GiveTheReferencesResults",
             r'"programs": (?P<programs>\d+), "streamed": (?P<streamed>\d+).*"wrong": (?P<wrong>\d+)',
             lambda n: f"{n.programs:,} programs, {n.streamed:,} streamed, {n.wrong} wrong")],
        "20,000 programs",
        (Kept(RESULTS + "stream_programs.json",
              lambda d: f"{d['programs']:,} programs, {d['streamed']:,} streamed, {d['wrong']} wrong"),)),
    Row("R36", "the same C gives the same bits by gcc 12, clang 19 and gcc 13; a file takes at most 5 s of a processor",
        "R2's kernels, two compilers",
        [Ran("fuzz.CompiledKernels.EveryRemainderOfEveryNumberOfLanes",
             r"(?P<kernels>\d+) kernels of (?P<texts>\d+) texts.* by (?P<compilers>\d+) compilers",
             lambda n: f"{n.kernels:,} kernels by {n.compilers} compilers"),
         *passed("fuzz.CompiledKernels.AgreeWithTheReferenceAndBetweenCompilers",
                 "fuzz.CompiledKernels.ChoicesAroundCopiedSigns", "host_run.CompilerFaults.*")], "all of R2's"),
    Row("R37", "calls through any entry are ordered by the memory that they share", "chains of 2 and 3 programs x 200",
        passed("host_run.CallOrder.*", "host_run.CallOrderAmongThreads.*", "device.CudaCallOrder.*"), "10^5"),
    Row("R38", "`--check` raises no false alarm and no false ok ([injected_bugs.md](injected_bugs.md))",
        "2,000 programs",
        [Ran("fuzz.JudgedPrograms.RaiseNoFalseAlarm",
             r"(?P<programs>\d+) programs, (?P<outputs>\d+) outputs.* (?P<alarms>\d+) alarms",
             lambda n: f"{n.programs:,} programs, {n.outputs:,} outputs, {n.alarms} alarms"),
         *passed("fuzz.JudgedPrograms.WithSharedErrorsRaiseNoFalseAlarm",
                 "fuzz.JudgedPrograms.RoundingsDroppedTermsAndWrongTailsAreSeen")],
        "100,000 programs; all injected bugs seen",
        (Kept(RESULTS + "judged_programs.json",
              lambda d: f"{d['programs']:,} programs, {d['false_alarms']} false alarms"),
         Kept(RESULTS + "injected_bugs.json",
              lambda d: f"{sum(bug['seen'] for bug in d['bugs'])} of "
                        f"{sum(not bug['harmless'] for bug in d['bugs'])} injected bugs seen"))),
    Row("R39", "CUDA source, run on a processor without a GPU: values, deadlocks, races between barriers",
        "400 kernels",
        [Ran("fuzz.CudaContexts.*Reference", r"(?P<kernels>\d+) kernels of (?P<programs>\d+) programs",
             lambda n: f"{n.kernels:,} kernels of {n.programs:,} programs, 0 problems"),
         Ran("fuzz.CudaContexts.MutantsOfTextsAreSeen", r"(?P<seen>\d+) of (?P<mutants>\d+) mutants with",
             lambda n: f"{n.seen} of {n.mutants} mutants seen")],
        "10,000 kernels",
        tuple(Kept(f"{RESULTS}cuda_contexts_{name}.json", contexts)
              for name in ("EveryScheduleAgreesWithTheReference", "RandomKernelsAgreeWithTheReference",
                           "process_that_did_not_end"))),
    Row("R40", "memory of plans and caches is bounded over changing sizes", "10^5 calls, 10,000 shapes",
        [Ran("host_run.PlanBounds.KeepMemoryFlatOverChangingSizes", r"(?P<calls>\d+) calls over \d+ shapes",
             lambda n: f"{n.calls:,} calls in 4 ways"), *passed("host_run.PlanBounds.*")], "10^6 calls"),
    Row("R41", "time and memory of compiling are bounded for 1,000 ops of any kind, splits, outputs, nesting",
        "5 s, 1 GB, exponent 1.3",
        [Ran("growth.gate", r"exponent +[-\d.]+ +(?P<ok>ok)", lambda n: f"{n.ok} families within the limits"),
         *passed("text.growth.*")],
        "all of `benchmarks/growth.py`"),
    Row("R42", "signals, full disks, closed pipes and limits leave no child, folder or part file", "yes",
        passed("text.run.leftovers.test", "text.run.broken_streams.test", "*.OutputFile.*")),
]
