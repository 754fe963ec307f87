#include "neura/core/error_details.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <typeinfo>

namespace neura {
namespace {

using Operands = std::shared_ptr<const std::vector<Spec>>;  // shared: copies of an exception must not throw

struct Detailed {
  Operands operands;
  virtual ~Detailed() = default;
};
template <class E> struct With final : E, Detailed {
  With(const std::string& text, Operands specs) : E(text) { operands = std::move(specs); }
};

std::string op_of(const std::string& text) {
  const std::size_t end = text.find(": ");
  return end == std::string::npos ? "" : text.substr(0, end);
}

template <class... E> void throw_like_one_of(const Error& e, const std::string& text, const Operands& operands) {
  const auto& type = typeid(e);
  ((type == typeid(E) || type == typeid(With<E>) ? throw With<E>(text, operands) : void()), ...);
}
// Returns only of a type that has no details.
void throw_like(const Error& e, const std::string& text, const Operands& operands) {
  throw_like_one_of<ShapeError, UnsupportedDTypeError, DTypeError, DeviceError, IndexError, ValueError, AutogradError,
                    InplaceError, NotImplementedError, OutOfMemoryError, LinAlgError, CudaError,
                    AssertedError<ShapeError>, AssertedError<DTypeError>, AssertedError<ValueError>>(e, text, operands);
}
bool is_name(const std::string& said) {
  return !said.empty() &&
         std::all_of(said.begin(), said.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
}

}  // namespace

ErrorDetails details_of(const Error& e) {
  const auto* detailed = dynamic_cast<const Detailed*>(&e);
  return {op_of(e.what()), detailed ? *detailed->operands : std::vector<Spec>()};
}

void rethrow_with_details(const char* op, std::vector<Spec> operands) {
  try {
    throw;
  } catch (const Error& e) {
    if (dynamic_cast<const Detailed*>(&e)) throw;
    std::string text = e.what();
    const std::string said = op_of(text);
    if (said == "allocate" || said == "scratch" || said == "copy") text.replace(0, said.size(), op);
    throw_like(e, text, std::make_shared<const std::vector<Spec>>(std::move(operands)));
    throw;
  }
}

void rethrow_of(const std::string& called, const std::string& own) {
  try {
    throw;
  } catch (const Error& e) {
    std::string text = e.what();
    const std::string said = op_of(text);
    if (said == called || said == own || said + "_" == called || said == "device" || said == "layout") throw;
    if (is_name(said) && said != "reduction") text.replace(0, said.size(), called);
    else text = called + ": " + text;
    const auto* detailed = dynamic_cast<const Detailed*>(&e);
    throw_like(e, text, detailed ? detailed->operands : std::make_shared<const std::vector<Spec>>());
    throw;
  }
}

}  // namespace neura
