// Nothing: a library that only precompiles tests.h has to have a source.
