#include "neura/core/error_details.h"

#include <memory>

namespace neura {
namespace {

struct Detailed {
  std::shared_ptr<const std::vector<Spec>> operands;  // shared: copies of an exception must not throw
  virtual ~Detailed() = default;
};
template <class E> struct With final : E, Detailed {
  With(const std::string& text, std::vector<Spec> specs) : E(text) {
    operands = std::make_shared<const std::vector<Spec>>(std::move(specs));
  }
};

std::string op_of(const std::string& text) {
  const std::size_t end = text.find(": ");
  return end == std::string::npos ? "" : text.substr(0, end);
}

template <class... E> [[noreturn]] void rethrow_as(const char* op, std::vector<Spec>& operands) {
  try {
    throw;
  } catch (const Error& e) {
    if (dynamic_cast<const Detailed*>(&e)) throw;
    std::string text = e.what();
    const std::string said = op_of(text);
    if (said == "allocate" || said == "scratch" || said == "copy") text.replace(0, said.size(), op);
    const auto& type = typeid(e);
    ((type == typeid(E) ? throw With<E>(text, std::move(operands)) : void()), ...);
    throw;
  }
}

}  // namespace

ErrorDetails details_of(const Error& e) {
  const auto* detailed = dynamic_cast<const Detailed*>(&e);
  return {op_of(e.what()), detailed ? *detailed->operands : std::vector<Spec>()};
}

void rethrow_with_details(const char* op, std::vector<Spec> operands) {
  rethrow_as<ShapeError, UnsupportedDTypeError, DTypeError, DeviceError, IndexError, ValueError, AutogradError,
             InplaceError, NotImplementedError, OutOfMemoryError, LinAlgError, CudaError>(op, operands);
}

}  // namespace neura
