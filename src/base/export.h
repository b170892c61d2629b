// What the shared library shows: all else is hidden, in both libraries.
#pragma once

/// Before a class or a function of the public headers. Types of errors and of interfaces have to be the same ones in
/// the library and in the programs that use it.
#define TOKAMAK_EXPORT __attribute__((visibility("default")))
