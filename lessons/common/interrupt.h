// Ctrl-C: the first one sets a flag that training loops look at, the second one ends the program at once.
#pragma once

namespace gradus {

// Installs the handlers: SIGINT and SIGTERM set the flag, a second one exits with 130; a broken pipe exits quietly
// with 141; a full file system limit becomes an error of the write instead of a signal. Standard input, output and
// error that are closed are pointed at /dev/null, so that no file opened later takes their number.
// lesson_main has called it before a lesson's `run` begins.
void prepare_process();

// True once Ctrl-C was pressed: finish the step, save, show what there is, return. Cheap enough for every step.
bool interrupted() noexcept;

// Sets or clears the flag by hand (tests; a lesson that catches the interruption of one part and goes on).
void set_interrupted(bool value) noexcept;

}  // namespace gradus
