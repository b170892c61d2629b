"""Whether completion files name every option that --help names: completion_names.py TOKAMAK FILE..."""
import re
import subprocess
import sys


def names(pattern, *arguments):
    text = subprocess.run([sys.argv[1], *arguments, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(pattern, text, re.MULTILINE)


commands = names(r"^  ([a-z][a-z-]*)  ")
count, missing = 0, 0
for file in sys.argv[2:]:
    text = open(file).read()
    for command in commands:
        part = [piece for piece in re.split(r";;", text) if re.search(rf'(^|\s)"?{command}( "\*)?\)', piece)]
        for option in names(r"^  (?:-h,)?(--[a-z-]+)", command):
            count += 1
            if not any(re.search(rf"{option}(?![a-z-])", piece) for piece in part):
                missing += 1
                print(f"{file}: {command} {option} is missing")
print(f"{count} options of {len(commands)} commands, {missing} missing")
