// What a handler may ask of an error: its operation and the tensors it was given, for every type.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "neura/core/error_details.h"
#include "neura/neura.h"

namespace neura {
namespace {

struct Refusal {
  std::string op;
  std::vector<std::string> operands;  // as Spec::str says them
  std::function<void()> call;
};
template <class E> void expect_fields(const std::vector<Refusal>& all) {
  for (const Refusal& r : all) {
    try {
      r.call();
      ADD_FAILURE() << r.op << ": nothing was thrown";
    } catch (const E& e) {
      const ErrorDetails details = details_of(e);
      EXPECT_EQ(details.op, r.op) << e.what();
      std::vector<std::string> got;
      for (const Spec& s : details.operands) got.push_back(s.str());
      EXPECT_EQ(got, r.operands) << e.what();
    } catch (const std::exception& e) {
      ADD_FAILURE() << r.op << ": another type: " << e.what();
    }
  }
}
Tensor leaf(const Shape& s) { return ones(s).requires_grad_(); }

TEST(Errors, EachTypeCarriesItsOperationAndOperands) {
  const Tensor x = ones({2, 3}), n = ones({2, 3}, {.dtype = int64});
  const std::string file = testing::TempDir() + "errors.txt";
  std::ofstream(file) << "no tensor";
  expect_fields<ShapeError>({{"add", {"float32 [2, 3]", "float32 [4]"}, [&] { add(x, ones({4})); }},
                             {"matmul", {}, [&] { matmul(x, x); }},  // what is checked before the call has none
                             {"zeros", {}, [&] { zeros({-1}); }}});
  expect_fields<DTypeError>({{"sub", {"bool [2, 3]", "bool [2, 3]"}, [&] { sub(x > 0, x > 0); }},
                             {"gather", {"float32 [2, 3]", "float32 [2, 3]"}, [&] { gather(x, 0, x); }}});
  expect_fields<IndexError>(
      {{"index_select", {"float32 [2, 3]", "int64 [1]"}, [&] { index_select(x, 0, full({1}, 7)); }},
       {"sum", {}, [&] { sum(x, 5); }}});  // a dimension is refused before the call
  expect_fields<ValueError>({{"floor_divide", {"int64 [2, 3]", "int64 [2, 3]"}, [&] { floor_divide(n, n * 0); }},
                             {"item", {}, [&] { x.item(); }}});
  expect_fields<AutogradError>({{"add",
                                 {"float32 [2]"},
                                 [&] {
                                   Tensor out = zeros({2});
                                   add_out(out, leaf({2}), 1);
                                 }},
                                {"backward", {}, [&] { x.backward(); }}});
  expect_fields<InplaceError>({{"mul_", {"float32 [2]"}, [&] {
                                  Tensor t = leaf({2});
                                  mul_(t, 2);
                                }}});
  expect_fields<DeviceError>({{"device", {}, [&] { Device("nowhere"); }}});
  expect_fields<NotImplementedError>(
      {{"embedding", {}, [&] { embedding(n, x, {.scale_grad_by_freq = true, .sparse = true}); }}});
  EXPECT_THROW(load(file + ".missing"), IoError);
  expect_fields<FormatError>({{file, {}, [&] { load(file); }}});
  expect_fields<GradcheckError>(
      {{"gradcheck", {}, [&] {
          gradcheck([](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * in[0].detach()}; },
                    {ones({2}, {.dtype = float64}).requires_grad_()});
        }}});
}

TEST(Errors, ACallInsideOfAnotherKeepsItsOwn) {  // linear is a product inside
  try {
    linear(ones({2, 3}), ones({4, 5}));
    ADD_FAILURE();
  } catch (const ShapeError& e) {
    EXPECT_EQ(details_of(e).op, "linear");
  }
}

TEST(Errors, GradcheckNamesInputElementAndBothValues) {
  const auto wrong = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[0] * in[1].detach()}; };
  const Tensor a = full({2}, 3.0, {.dtype = float64}).requires_grad_(),
               b = full({2}, 2.0, {.dtype = float64}).requires_grad_();
  try {
    gradcheck(wrong, {a, b});
    ADD_FAILURE();
  } catch (const GradcheckError& e) {
    const std::string text = e.what();
    for (const char* word : {"output 0 element 0", "input 1 element 0", "3.000000", "got 0.000000", "atol", "rtol"})
      EXPECT_NE(text.find(word), text.npos) << text;
  }
}

}  // namespace
}  // namespace neura
