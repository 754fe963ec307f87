#include "cli/answers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "neura/autograd/grad_mode.h"
#include "neura/ops/nn/softmax.h"

namespace neura::cli {

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", 100 * part);
  return text;
}

std::string bar(double part) {
  constexpr int kBar = 30;
  std::string text;
  for (int i = 0; i < int(part * kBar + 0.5); ++i) text += "\u2588";
  return text;
}

std::vector<std::size_t> ranked(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {  // NaN is last
    return values[a] > values[b] || (!std::isnan(values[a]) && std::isnan(values[b]));
  });
  return order;
}

std::string json_line(const nlohmann::ordered_json& j) {
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<double> probabilities(nn::Sequential& model, const Tensor& item) {
  const NoGrad off;
  const Tensor p = softmax(model(item.unsqueeze(0).to(model.device())), 1).to(Device());
  return {p.const_data<float>(), p.const_data<float>() + p.numel()};
}

void say_classes(const std::string& name, const std::vector<std::string>& classes, const std::vector<double>& p,
                 bool json, bool alone) {
  const std::vector<std::size_t> order = ranked(p);
  if (json) {
    nlohmann::ordered_json line = {{"file", name}, {"class", classes[order[0]]}, {"probability", p[order[0]]}};
    for (const std::size_t c : order) line["probabilities"][classes[c]] = p[c];
    std::printf("%s\n", json_line(line).c_str());
  } else if (alone) {
    for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i)
      std::printf("%-12s %9s  %s\n", classes[order[i]].c_str(), percent(p[order[i]]).c_str(), bar(p[order[i]]).c_str());
  } else {
    std::printf("%s: %s %s\n", name.c_str(), classes[order[0]].c_str(), percent(p[order[0]]).c_str());
  }
}

}  // namespace neura::cli
