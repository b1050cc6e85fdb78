// Nothing: a library that only precompiles standard.h has to have a source.
