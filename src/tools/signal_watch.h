// SignalWatch: what the command line does when a signal asks it to end: it ends what it started, removes what is half
// done, and dies of that signal.
#pragma once

#include <chrono>

namespace tokamak::tools {

/// For the first line of main(): threads made later leave the signals that others send to end a process to the watch
/// (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU; unless they were ignored).
/// A write to a closed pipe, or beyond a limit of file sizes, is an error of that write then, and no signal.
void watchSignals();

/// From now on the process ends that much after SIGTERM: mpirun sends it to all when a rank dies, who then know that
/// themselves, and may say in which operation.
void keepTimeForLastWords(std::chrono::milliseconds time);

}  // namespace tokamak::tools
