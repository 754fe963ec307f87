// The model appended to a small program: see plain.h.
#include "cli/runner/embedded_model.h"
#include "cli/small/plain.h"
#include "neura/graph/foreign.h"

namespace neura::cli {
namespace {

class Reader {
 public:
  explicit Reader(const io::Source& source) : source_(source) {}

  ProgramFile all() {
    ProgramFile f;
    f.version = text();
    f.outputs.resize(count());
    for (std::string& name : f.outputs) name = text();
    for (std::uint64_t n = count(); n--;) {
      std::string key = text();
      f.metadata[std::move(key)] = text();
    }
    const std::string program = text();
    f.program = graph::parse(program, [this](graph::Program& p) { give(p); });
    for (const graph::External& e : f.program.externals)
      if (e.kind == graph::External::input) f.inputs.push_back(e.name);
    return f;
  }

 private:
  std::uint64_t count() {
    std::uint64_t n = 0;
    read(&n, sizeof n);
    check<FormatError>(n <= source_.size(), [] { return std::string("expected a whole model, got a damaged one"); });
    return n;
  }
  std::string text() {
    std::string s(count(), '\0');
    read(s.data(), s.size());
    return s;
  }
  void read(void* to, std::size_t n) {
    check<FormatError>(n <= source_.size() - at_, [] { return std::string("expected a whole model, got a part"); });
    source_.read(at_, to, n), at_ += n;
  }
  void give(graph::Program& p) {
    for (std::size_t i = 0; i < p.externals.size(); ++i) {
      graph::External& e = p.externals[i];
      if (e.kind == graph::External::input || e.tensor) continue;
      at_ = plain_aligned(at_);
      const Spec& s = p.values[i];
      check<FormatError>(at_ <= source_.size() && s.bytes() <= source_.size() - at_,
                         [] { return std::string("expected a whole model, got a part"); });
      e.tensor = Tensor(Ref<TensorImpl>::adopt(TensorImpl::make(s, io::storage_of(source_.mapping(), at_, s.bytes()))));
      at_ += s.bytes();
    }
  }

  const io::Source& source_;
  std::uint64_t at_ = 0;
};

}  // namespace

const char* const kFiles = "a file .npy";
const char* const kValueHelp =
    "VALUE is FILE.npy, or numbers such as 1,-2.5,3e-4: as many as the input has, or one for all of them.";

ProgramFile load_within(const std::string& self, const Appended& a) {
  const io::Source source(self, a.offset, a.size, true);
  return Reader(source).all();
}

std::vector<std::pair<std::string, Tensor>> tensors_in(const std::string& path) {
  throw NotImplementedError(path + ": expected a file .npy, which a small program reads, got .safetensors");
}

}  // namespace neura::cli
