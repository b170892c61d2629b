"""What a run leaves behind that a signal, a limit or a closed pipe ends: leftovers.py TOOL PROGRAM FOLDER."""

import os
import resource
import signal
import subprocess
import sys
import time

tool, program, folder = (os.path.abspath(path) for path in sys.argv[1:])
os.makedirs(folder, exist_ok=True)
faults = []


def fresh(name):
    path = os.path.join(folder, name)
    subprocess.run(["rm", "-rf", path], check=True)
    os.makedirs(path)
    return path


def environment(temporary, **more):
    return {**os.environ, "TMPDIR": temporary, "TOKAMAK_CACHE_DIR": os.path.join(temporary, "..", "cache"), **more}


def runs(pid):
    """Whether the process is there and no zombie, which only its new parent can bury."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as status:
            return status.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except FileNotFoundError:
        return False


def expect(condition, sentence):
    if not condition:
        faults.append(sentence)


def interrupted(number):
    """A compiler that never answers is running when the signal comes."""
    temporary = fresh("interrupted")
    fresh("cache")
    compiler = os.path.join(folder, "slow_cc")
    with open(compiler, "w", encoding="ascii") as script:
        script.write(f"#!/bin/sh\necho $$ >'{folder}/new'\nmv '{folder}/new' '{folder}/child'\nsleep 60\n")
    os.chmod(compiler, 0o700)
    child_file = os.path.join(folder, "child")
    if os.path.exists(child_file):
        os.remove(child_file)
    output = os.path.join(folder, "y.npy")
    child = subprocess.Popen(
        [tool, "run", program, "--output", f"T2={output}"], env=environment(temporary, TOKAMAK_CC=compiler),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # who runs the tests may ignore it
    )
    while not os.path.exists(child_file) and child.poll() is None:
        time.sleep(0.01)
    expect(os.path.exists(child_file), f"{number.name}: no compiler was started")
    with open(child_file, encoding="ascii") as file:
        compiler_pid = int(file.read())
    expect(os.listdir(temporary) != [], f"{number.name}: the compiler has no folder")
    child.send_signal(number)
    said = child.communicate(timeout=20)[1]
    expect(child.returncode == -number, f"{number.name}: ended with {child.returncode}: {said}")
    for _ in range(200):
        if not runs(compiler_pid):
            break
        time.sleep(0.01)
    expect(not runs(compiler_pid), f"{number.name}: the compiler is left")
    expect(os.listdir(temporary) == [], f"{number.name}: left in the temporary folder: {os.listdir(temporary)}")
    expect(not os.path.exists(output), f"{number.name}: {output} was left")


def beyond_a_file_limit():
    temporary, outputs = fresh("limited"), fresh("outputs")
    fresh("cache")
    subprocess.run([tool, "run", program], env=environment(temporary), stdout=subprocess.DEVNULL, check=True)
    result = subprocess.run(
        [tool, "run", program, "--size", "i0=512", "--size", "i2=512", "--output", f"T2={outputs}/y.npy"],
        env=environment(temporary), capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    expect(result.returncode == 4, f"file limit: ended with {result.returncode}: {result.stderr}")
    expect("y.npy' cannot be written: File too large" in result.stderr, f"file limit: said {result.stderr}")
    expect(os.listdir(outputs) == [], f"file limit: left {os.listdir(outputs)}")
    expect(os.listdir(temporary) == [], f"file limit: left {os.listdir(temporary)}")


def full_and_closed_outputs():
    temporary = fresh("full")
    commands = (
        ["info"], ["info", "--functions"], ["run", program], ["run", program, "--check"], ["opt", program],
        ["opt", "--list-passes"], ["--help"], ["run", "--help"], ["run", program, "--dump", "host_ir,plan"],
        ["info", "--ops"], ["info", "--completion", "bash"], ["--version"], ["cache", "ls"], ["compile", program],
        ["bench", program, "--repeat", "1"],
    )
    for command in commands:
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run(
                [tool, *command], env=environment(temporary), stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        sentence = "the standard output cannot be written: "
        expect(
            result.returncode == 4 and sentence + "No space left on device" in result.stderr,
            f"full output: {command}: {result}",
        )
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run(
            [tool, *command], env=environment(temporary), stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writer)
        expect(
            result.returncode == 4 and sentence + "Broken pipe" in result.stderr, f"closed pipe: {command}: {result}"
        )
    expect(os.listdir(temporary) == [], f"full output: left {os.listdir(temporary)}")


def ignored_signal():
    """nohup: who started the tool wants it to go on."""
    temporary = fresh("ignored")
    result = subprocess.run(
        ["sh", "-c", 'trap "" HUP; "$0" run "$1" & child=$!; kill -HUP $child; wait $child', tool, program],
        env=environment(temporary), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )
    expect(result.returncode == 0, f"ignored SIGHUP: {result}")


for number in (
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
    signal.SIGXCPU,
):
    interrupted(number)
beyond_a_file_limit()
full_and_closed_outputs()
ignored_signal()
for fault in faults:
    print(fault)
print("nothing is left behind" if not faults else f"{len(faults)} faults")
