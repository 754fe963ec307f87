// No operation escapes: every function that a header of neura/ops declares is a row, is in a case, or stands here.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "neura/ops/rows.h"
#include "tests/contract/structs.h"
#include "tests/support/lapack.h"

namespace neura::test {
namespace {

namespace files = std::filesystem;

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> all;
  std::string word;
  for (const char ch : text + " ")
    if (std::isalnum(static_cast<unsigned char>(ch)) || ch == '_') word += ch;
    else if (!word.empty()) all.push_back(word), word.clear();
  return all;
}

// The functions declared at the start of a line with a result of tensors.
std::set<std::string> declared(const files::path& header) {
  static const std::set<std::string> results = {"Tensor",
                                                "TensorList",
                                                "std::vector<Tensor>",
                                                "std::array<Tensor, 2>",
                                                "std::array<Tensor, 3>",
                                                "MinMaxResult",
                                                "MaxResult",
                                                "MinResult",
                                                "MomentsResult",
                                                "SortResult",
                                                "CumulativeResult",
                                                "UniqueResult",
                                                "HistogramResult",
                                                "HistogramDDResult",
                                                "RecurrentResult",
                                                "LstmResult",
                                                "std::pair<Tensor, Tensor>"};
  std::set<std::string> names;
  std::ifstream in(header);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("inline ", 0) == 0) line.erase(0, 7);
    for (const std::string& r : results)
      if (line.rfind(r + " ", 0) == 0) {
        const std::vector<std::string> after = words(line.substr(r.size()));
        if (!after.empty() && line[r.size() + 1 + after[0].size()] == '(') names.insert(after[0]);
      }
  }
  return names;
}

// Without a derivative, another name of one that is here, or random (tests/ops has those).
const std::set<std::string> kElsewhere = {
    // other names, and parts of those that are here
    "moveaxis", "swapaxes", "swapdims", "concat", "concatenate", "vstack", "hsplit", "vsplit", "dsplit", "fliplr",
    "flipud", "expand_as", "view_as", "reshape_as", "atleast_1d", "atleast_2d", "broadcast_tensors", "constant_pad_nd",
    "ger", "native_layer_norm", "native_group_norm", "native_batch_norm", "min", "softmax_backward",
    "log_softmax_backward", "_safe_softmax", "embedding_dense_backward", "conv_transpose3d", "adaptive_avg_pool3d",
    "adaptive_max_pool1d", "adaptive_max_pool3d", "max_pool1d_with_indices", "max_pool3d_with_indices",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d_with_indices",
    "_chunk_cat", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "_softmax_backward_data",
    "fractional_max_pool3d_with_indices", "copy_of", "number_of", "unpacked", "zero_gradient", "fit_gradient",
    "apply_row", "strided_sum", "exact_slope",
    // rows by other names or over rows (rows_more.h)
    "clip", "true_divide", "absolute", "negative", "fix", "positive", "less", "greater", "less_equal", "greater_equal",
    "not_equal", "rsub", "float_power", "ldexp", "isclose", "mvlgamma",
    // no derivative
    "argmax", "argmin", "any", "all", "count_nonzero", "argsort", "unique", "unique_consecutive", "searchsorted",
    "bucketize", "bincount", "histc", "histogram", "histogramdd", "nonzero", "nonzero_as_tuple", "nonzero_static",
    "argwhere", "where", "unravel_index", "one_hot", "isin", "gradient_norm", "fftfreq", "rfftfreq", "matrix_rank",
    "ldl_solve", "hash_tensor",
    // tests/ops/lazy_clone_test.cpp
    "lazy_clone",
    // random
    "rrelu", "gumbel_softmax"};

TEST(Contract, KnowsEveryOperation) {
  const char* source = std::getenv("NEURA_SOURCE");
  if (!source) GTEST_SKIP() << "NEURA_SOURCE is not set";
  std::set<std::string> used;
  for (const StructCase& c : struct_cases())
    for (const std::string& w : words(c.text)) used.insert(w);
  int found = 0;
  for (const auto& entry : files::directory_iterator(files::path(source) / "neura/ops")) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() != ".h" || file == "create.h" || file == "window.h" || file == "random.h" ||
        file == "dropout.h" || file == "rows.h" || (file == "linalg.h" && !lapack::library()))
      continue;
    if (file.find("_common.h") != std::string::npos || file.find("_ops.h") != std::string::npos)
      continue;  // the library's own
    for (const std::string& name : declared(entry.path())) {
      const bool writes = name.back() == '_' || (name.size() > 4 && name.substr(name.size() - 4) == "_out");
      if (writes || find_row(name) || kElsewhere.count(name)) continue;
      EXPECT_TRUE(used.count(name)) << file << " declares " << name << ", which no case calls";
      ++found;
    }
  }
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace neura::test
