// tokamak: the command line.
#include "tools/process.h"

int main(int argc, char** argv) { return tokamak::tools::runProcess(argc, argv); }
