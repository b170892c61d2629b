"""Checks the structure of a timeline: check_timeline.py FILE SPAN... (names of spans that must occur and, but for waits, take time)"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
spans = [e for e in events if e["ph"] == "X"]
begins = {e["id"]: e for e in events if e["ph"] == "s"}
ends = {e["id"]: e for e in events if e["ph"] == "f"}
assert {e["ph"] for e in events} == {"M", "X", "s", "f"}, "other kinds of events"
assert all(e["pid"] == 1 for e in events)
assert len(set(tracks.values())) == len(tracks), "two tracks have one name"
assert {e["tid"] for e in spans} <= set(tracks), "a span on a track without a name"
assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans)
assert begins.keys() == ends.keys() and len(begins) == sum(e["ph"] == "s" for e in events), "an arrow without a pair"
for arrow, begin in begins.items():
    end = ends[arrow]
    assert begin["tid"] != end["tid"] and begin["ts"] <= end["ts"], f"arrow {arrow} goes back in time"
    on_end = [s for s in spans if s["tid"] == end["tid"] and s["ts"] <= end["ts"] <= s["ts"] + s["dur"] + 1e-3]
    assert on_end, f"arrow {arrow} does not end in a span"
for track in tracks:
    own = sorted((s["ts"], s["dur"]) for s in spans if s["tid"] == track)
    assert all(a[0] + a[1] <= b[0] + 1e-3 for a, b in zip(own, own[1:])), f"spans of {tracks[track]} overlap"
names = {s["name"] for s in spans}
missing = [name for name in sys.argv[2:] if name not in names]
assert not missing, f"{missing} is not among {sorted(names)}"
unreal = {s["name"] for s in spans if s["dur"] == 0} & set(sys.argv[2:]) - {"wait"}
assert not unreal, f"{unreal} take no time"
working = {s["tid"] for s in spans if s["name"] not in ("fill", "record")}
print(f"{len(working)} streams with work, {len(begins)} arrows")
