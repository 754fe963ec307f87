// What callers get wrong, in one table: each call throws its own type, and its sentence names the operation, what it
// got and what would be right. Nothing is changed by a call that throws.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <limits>

#include "neura/neura.h"

namespace neura {
namespace {

struct Misuse {
  const char* what;
  std::function<void()> call;
  std::vector<const char*> words;  // all of them stand in the sentence
};
template <class E> struct Table {
  const char* type;
  std::vector<Misuse> rows;
};

Tensor floats(const Shape& s) { return ones(s); }
Tensor leaf(const Shape& s) { return ones(s).requires_grad_(); }
Tensor integers(const Shape& s) { return ones(s, {.dtype = int64}); }

int cases = 0;
template <class E> void expect_refusals(const Table<E>& table) {
  for (const Misuse& m : table.rows) {
    ++cases;
    try {
      m.call();
      ADD_FAILURE() << m.what << ": nothing was thrown";
    } catch (const E& e) {
      const std::string text = e.what();
      for (const char* word : m.words)
        EXPECT_NE(text.find(word), std::string::npos) << m.what << ": \"" << text << "\" lacks " << word;
      EXPECT_NE(text.find(':'), std::string::npos) << m.what << ": no operation in \"" << text << '"';
    } catch (const std::exception& e) {
      ADD_FAILURE() << m.what << ": not a " << table.type << " but \"" << e.what() << '"';
    }
  }
}

TEST(Misuse, Shapes) {
  expect_refusals<ShapeError>(
      {"ShapeError",
       {{"a negative size",
         [] {
           zeros({2, -1});
         },
         {"zeros", "-1"}},
        {"sizes that do not broadcast",
         [] {
           add(floats({2, 3}), floats({4}));
         },
         {"add", "[2, 3]", "[4]", "broadcast"}},
        {"a condition of another size",
         [] { where(floats({2}) > 0, floats({3}), floats({3})); },
         {"where", "[2]", "[3]"}},
        {"inner sizes differ",
         [] {
           matmul(floats({2, 3}), floats({4, 5}));
         },
         {"matmul", "[2, 3]", "[4, 5]"}},
        {"channels differ",
         [] {
           conv2d(floats({8, 3, 32, 32}), floats({16, 16, 3, 3}));
         },
         {"conv2d", "16 channels", "got 3"}},
        {"linear of another width",
         [] {
           linear(floats({2, 3}), floats({4, 5}));
         },
         {"linear", "[2, 3]", "[4, 5]"}},
        {"weights of another width",
         [] {
           layer_norm(floats({2, 3}), {4});
         },
         {"layer_norm", "[2, 3]", "[4]"}},
        {"a view of too many elements",
         [] {
           view(floats({2, 3}), {7});
         },
         {"view", "6", "[7]"}},
        {"a view that strides forbid",
         [] {
           view(floats({2, 3}).t(), {6});
         },
         {"view", "reshape"}},
        {"a dimension twice",
         [] {
           permute(floats({2, 3}), {0, 0});
         },
         {"permute", "[0, 0]"}},
        {"growing what is not 1",
         [] {
           expand(floats({2, 3}), {2, 4});
         },
         {"expand", "[2, 4]", "float32 [2, 3]"}},
        {"parts of different height",
         [] {
           cat({floats({2, 3}), floats({3, 4})});
         },
         {"cat", "[2, 3]", "[3, 4]"}},
        {"stacking different sizes",
         [] {
           stack({floats({2}), floats({3})});
         },
         {"stack", "[2]", "[3]"}},
        {"a destination that is too small",
         [] {
           Tensor a = floats({2});
           add_(a, floats({3, 2}));
         },
         {"add", "[3, 2]", "[2]"}},
        {"writing where elements share memory",
         [] {
           Tensor e = expand(floats({1}), {3});
           add_(e, 1);
         },
         {"add", "share memory", "clone()"}},
        {"more dimensions than there can be",
         [] {
           ones({1, 1, 1, 1, 1, 1, 1, 1}).unsqueeze(0);
         },
         {"8 dimensions", "9"}},
        {"a gradient of another size", [] { (leaf({2}) * 2).backward(floats({3})); }, {"backward", "[2]", "[3]"}},
        {"labels for another batch",
         [] {
           cross_entropy(floats({4, 3}), integers({5}));
         },
         {"cross_entropy", "[4, 3]", "[5]"}},
        {"a matrix in place of a batch",
         [] {
           bmm(floats({2, 3}), floats({2, 3}));
         },
         {"bmm", "[2, 3]"}}}});
}
TEST(Misuse, Dtypes) {
  expect_refusals<DTypeError>(
      {"DTypeError",
       {{"difference of truths", [] { sub(floats({2}) > 0, floats({2}) > 0); }, {"sub", "bool"}},
        {"a fraction into integers",
         [] {
           Tensor n = integers({2});
           mul_(n, 2.5);
         },
         {"mul", "float32", "int64 [2]"}},
        {"order of complex numbers", [] { lt(ones({2}, {.dtype = complex64}), 0); }, {"lt", "complex64"}},
        {"a product of two dtypes",
         [] {
           matmul(floats({2, 2}), ones({2, 2}, {.dtype = float64}));
         },
         {"matmul", "float32", "float64"}},
        {"mean of integers", [] { mean(integers({3})); }, {"mean", "int64"}},
        {"softmax of integers", [] { softmax(integers({3}), 0); }, {"softmax", "int64"}},
        {"ids that are no integers",
         [] {
           embedding(floats({2}), floats({5, 3}));
         },
         {"embedding", "float32"}},
        {"an index that is no integer",
         [] {
           gather(floats({2, 2}), 0, floats({2, 2}));
         },
         {"gather", "float32"}},
        {"the data as another type", [] { floats({2}).data<double>(); }, {"data", "float64", "float32 [2]"}},
        {"a default dtype that is no float", [] { set_default_dtype(int64); }, {"set_default_dtype", "int64"}},
        {"bits of floats", [] { bitwise_and(floats({2}), floats({2})); }, {"bitwise_and", "float32"}},
        {"the imaginary part of real numbers", [] { imag(floats({2})); }, {"imag", "float32 [2]"}}}});
}
TEST(Misuse, IndicesAndDimensions) {
  const Tensor x = floats({3, 4});
  expect_refusals<IndexError>(
      {"IndexError",
       {{"a dimension that is not there", [&] { sum(x, 2); }, {"sum", "2"}},
        {"a negative one", [&] { softmax(x, -3); }, {"softmax", "-3"}},
        {"an index beyond the end", [&] { select(x, 0, 3); }, {"select", "3", "float32 [3, 4]"}},
        {"narrowing past the end", [&] { narrow(x, 1, 3, 2); }, {"narrow", "float32 [3, 4]", "start 3", "length 2"}},
        {"gathering from nowhere",
         [&] {
           gather(x, 0, full({1, 4}, 7));
         },
         {"gather", "7"}},
        {"scattering to nowhere",
         [&] {
           Tensor y = floats({3, 4});
           scatter_(y, 0, full({1, 4}, 5), floats({1, 4}));
         },
         {"scatter", "5"}},
        {"rows that are not there", [&] { index_select(x, 0, full({1}, -4)); }, {"index_select", "-4"}},
        {"an id beyond the table",
         [&] {
           embedding(full({2}, 5), floats({5, 3}));
         },
         {"embedding", "5"}},
        {"a class that is not there",
         [&] {
           cross_entropy(floats({2, 3}), full({2}, 3));
         },
         {"3"}},
        {"the size of a number", [] { floats({}).size(0); }, {"size", "0-d"}},
        {"a maximum of nothing", [] { amax(floats({0})); }, {"amax"}}}});
}
TEST(Misuse, Values) {
  expect_refusals<ValueError>(
      {"ValueError",
       {{"a step of nothing", [] { slice(floats({3}), 0, 0, 3, 0); }, {"slice", "step", "0"}},
        {"one number of many", [] { floats({2}).item(); }, {"item", "float32 [2]"}},
        {"integers divided by zero", [] { floor_divide(integers({2}), 0); }, {"floor_divide", "int64 [2], 0"}},
        {"a size that no memory holds",
         [] {
           zeros({std::int64_t{1} << 40, std::int64_t{1} << 40});
         },
         {"memory"}},
        {"a probability above one", [] { dropout(floats({2}), 1.5); }, {"dropout", "1.5"}},
        {"a window beyond the storage",
         [] {
           as_strided(floats({4}), {3, 3}, {2, 1});
         },
         {"as_strided", "4"}},
        {"a stride of nothing",
         [] {
           conv1d(floats({1, 1, 5}), floats({1, 1, 3}), {}, {.stride = {0}});
         },
         {"conv1d", "stride"}},
        {"a learning rate below zero", [] { optim::SGD(std::vector<Tensor>{leaf({2})}, {.lr = -1}); }, {"lr", "-1"}},
        {"no threads", [] { set_num_threads(0); }, {"set_num_threads", "0"}}}});
  expect_refusals<DeviceError>(
      {"DeviceError",
       {{"a device that does not exist", [] { Device("tpu"); }, {"device", "\"tpu\"", "cuda"}},
        {"a device that this build has not", [] { floats({2}).to("cuda:99"); }, {"device", "cuda:99", "expected"}}}});
}
TEST(Misuse, Autograd) {
  expect_refusals<AutogradError>(
      {"AutogradError",
       {{"backward of many elements", [] { (leaf({2}) * 2).backward(); }, {"backward", "float32 [2]", "gradient"}},
        {"backward of what has no history", [] { floats({}).backward(); }, {"backward", "requires_grad_()"}},
        {"backward twice",
         [] {
           Tensor x = leaf({2}), y = sum(x * x);
           y.backward();
           y.backward();
         },
         {"mul", "retain_graph"}},
        {"a gradient of integers", [] { integers({2}).requires_grad_(); }, {"requires_grad_", "int64 [2]"}},
        {"an input that was not used",
         [] {
           Tensor x = leaf({}), y = leaf({});
           grad(x * 2, y);
         },
         {"grad", "input 0", "allow_unused"}},
        {"out= while recording",
         [] {
           Tensor o = zeros({2});
           add_out(o, leaf({2}), 1);
         },
         {"add", "out="}},
        {"freezing a result",
         [] {
           Tensor y = leaf({2}) * 2;
           y.requires_grad_(false);
         },
         {"requires_grad_", "detach()"}}}});
  expect_refusals<InplaceError>({"InplaceError",
                                 {{"a leaf written while recording",
                                   [] {
                                     Tensor x = leaf({2});
                                     add_(x, 1);
                                   },
                                   {"add_", "leaf", "NoGrad"}},
                                  {"a saved value written",
                                   [] {
                                     Tensor x = leaf({2}), y = exp(x);
                                     add_(y, 1);
                                     sum(y).backward();
                                   },
                                   {"exp", "add_", "version", "clone()"}},
                                  {"one of several views written",
                                   [] {
                                     Tensor x = leaf({2}) * 1, u = unbind(x)[0];
                                     mul_(u, 2);
                                   },
                                   {"mul_", "several"}},
                                  {"an inference tensor written while recording",
                                   [] {
                                     Tensor t;
                                     {
                                       InferenceMode on;
                                       t = floats({2});
                                     }
                                     add_(t, 1);
                                   },
                                   {"add", "inference", "clone()"}}}});
}
TEST(Misuse, FilesAndModules) {
  const std::string folder = testing::TempDir(), text = folder + "misuse.txt";
  std::ofstream(text) << "this is no tensor";
  expect_refusals<IoError>(
      {"IoError",
       {{"a file that is not there", [&] { load(folder + "nowhere.safetensors"); }, {"nowhere.safetensors"}}}});
  expect_refusals<FormatError>({"FormatError", {{"a file of something else", [&] { load(text); }, {"misuse.txt"}}}});
  nn::Linear layer(3, 2);
  expect_refusals<ValueError>(
      {"ValueError",
       {{"a state with names that are missing", [&] { layer.load_state_dict({}); }, {"weight", "bias"}}}});
  expect_refusals<ShapeError>({"ShapeError",
                               {{"input of another width",
                                 [&] {
                                   layer(floats({2, 4}));
                                 },
                                 {"linear", "[2, 4]"}}}});
  EXPECT_GE(cases, 50);
  std::printf("misuse: %d cases\n", cases);
}

TEST(Misuse, NothingIsChangedByACallThatThrows) {
  Tensor x = arange(6.0), y = arange(6.0);
  const auto version = x.version();
  EXPECT_THROW(add_(x, floats({7})), ShapeError);
  EXPECT_THROW(mul_(x, std::complex<double>(0, 1)), DTypeError);
  EXPECT_THROW(index_add_(x, 0, full({1}, 9), floats({1})), IndexError);
  EXPECT_EQ(x.version(), version + 1) << "index_add_ alone had begun to write";
  EXPECT_TRUE(equal(x, y));
}
TEST(Misuse, NotANumberIsAValue) {  // never a refusal, never an endless loop
  const Tensor x = full({3}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(isnan(amax(x)).item<bool>());
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 0);
  EXPECT_TRUE(isnan(std(x)).item<bool>());
}

}  // namespace
}  // namespace neura
