"""The exit codes of commands whose standard error or output cannot be written: broken_streams.py TOKAMAK PROGRAM FOLDER"""
import os
import sys

tokamak, program, folder = sys.argv[1:]
no_file = ["run", os.path.join(folder, "none.fusion")]
said = ["run", program, "--kernels", "compiled"]


def code(name, arguments, out, err, **environment):
    """The exit code with the streams `out` and `err`: None is closed, "pipe" a pipe that nobody reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    opened = {"pipe": write_end, "full": os.open("/dev/full", os.O_WRONLY), "null": os.open("/dev/null", os.O_WRONLY)}
    child = os.fork()
    if child == 0:
        for number, stream in ((1, out), (2, err)):
            if stream is None:
                os.close(number)
            else:
                os.dup2(opened[stream], number)
        os.execve(tokamak, [tokamak, *arguments], {**os.environ, **environment})
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    for descriptor in opened.values():
        os.close(descriptor)


code("both are a broken pipe:", ["info", "--ops"], "pipe", "pipe")
for stream in ("full", "pipe", None):
    code(f"no such file, standard error {stream}:", no_file, "null", stream)
    code(f"bad usage, standard error {stream}:", ["run", program, "--bogus"], "null", stream)
    code(f"no compiler, standard error {stream}:", said, "null", stream, TOKAMAK_CC="/none/cc")
    code(f"no cache, standard error {stream}:", said, "null", stream, TOKAMAK_CACHE_DIR="/dev/null/cache")
    code(f"standard output {stream}:", ["info"], stream, "null")
    code(f"nothing printed, standard output {stream}:", said + ["--quiet"], stream, "null")

# With standard error closed a message does not end up in the file that is opened next.
output = os.path.join(folder, "y.npy")
code("an output, standard error closed:", said + ["--quiet", "--output", f"T2={output}"], "null", None, TOKAMAK_CC="/none/cc")
print(open(output, "rb").read()[1:6])
