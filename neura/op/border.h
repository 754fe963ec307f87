// Back ends that arrive through the C border (neura/backend/border.h) while the program runs: docs/backend.md.
#pragma once
#include <string>

#include "neura/backend/border_run.h"
#include "neura/op/apply.h"

namespace neura {

// Loads a library and lets it register its device types. IoError where it cannot be loaded, FormatError where it is no
// back end, ValueError where what it registers is refused (another version, a name that is taken). Libraries named by
// NEURA_BACKENDS, separated by ':', are loaded when a device type is asked for that is not known yet.
void load_backend(const std::string& path);

// For the engine: a call whose device is meta or registered. False: the back end has no kernel, and the definition is
// to run.
bool run_registered(Call&, Device, const View* in, const View* out);
void run_registered_row(const Row&, Device, const Plan&, LineFn*, const double* attributes);
void report_failure(const Call&, const Context&);  // throws what a kernel reported

}  // namespace neura
