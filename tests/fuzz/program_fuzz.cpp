// Any bytes load as a .neura file or are refused with a FormatError or NotImplementedError; any text that begins as a
// program's is refused, or runs on zeros. The text alone, because no fuzzer guesses the hash of a file.
#include <cstdint>
#include <string_view>

#include "neura/graph/foreign.h"
#include "neura/io/program.h"
#include "neura/ops/create/create.h"

namespace {

constexpr std::size_t kMost = 1 << 16;  // bytes of a value of a program that is run

void run_text(std::string_view text) {
  using namespace neura;
  try {
    graph::Program p = graph::parse(text, graph::check_foreign);
    std::vector<Tensor> inputs;
    for (const Spec& s : p.values)
      if (s.bytes() > kMost) return;
    for (std::size_t i = 0; i < p.externals.size(); ++i) {
      graph::External& e = p.externals[i];
      const Spec& s = p.values[i];
      if (!s.device.is_cpu()) return;
      const Tensor zero = e.tensor ? e.tensor : zeros(s.sizes(), {.dtype = s.dtype});
      if (e.kind == graph::External::input) inputs.push_back(zero);
      else if (zero.spec().same_geometry(s)) e.tensor = zero;
    }
    graph::run(p, inputs);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("program")) return run_text(text), 0;
  try {
    neura::load_program(std::as_bytes(std::span(data, size)));
  } catch (const neura::FormatError&) {
  } catch (const neura::NotImplementedError&) {
  }
  return 0;
}
