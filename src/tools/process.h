// A process of the command line: `tokamak`, and `python -m tokamak`.
#pragma once

namespace tokamak::tools {

/// Carries out a command line, whose first word is the program's name, and gives the exit code. To be called once, by
/// the main thread, before others are made: it takes over the process' signals (signal_watch.h) and standard streams.
int runProcess(int argc, const char* const* argv);

}  // namespace tokamak::tools
