#include "cli/history.h"

#include "neura/core/error.h"
#include "neura/io/checkpoint.h"

namespace neura::cli {
namespace {

nn::List numbers(std::initializer_list<double> v) {
  nn::List l{{}, false};
  for (double x : v) l.items.emplace_back(x);
  return l;
}

const nn::Value& entry(const nn::Dict& d, const char* name) {
  const nn::Value* v = d.find(name);
  check<ValueError>(v, [&] { return std::string("expected a history with \"") + name + "\", got none"; });
  return *v;
}

std::vector<std::vector<double>> rows(const nn::Dict& d, const char* name, std::size_t width) {
  auto all = nn::unbox<std::vector<std::vector<double>>>(entry(d, name));
  for (const auto& row : all)
    check<ValueError>(row.size() == width,
                      [&] { return std::string("expected a history with whole rows of ") + name; });
  return all;
}

}  // namespace

nn::Dict History::save() const {
  nn::List e{{}, false}, c{{}, false};
  for (const EpochRecord& r : epochs)
    e.items.emplace_back(numbers({r.train_loss, r.train_accuracy, r.test_loss, r.test_accuracy, r.seconds}));
  for (const auto& [x, y] : curve) c.items.emplace_back(numbers({x, y}));
  nn::Dict d;
  d["epochs"] = std::move(e);
  d["curve"] = std::move(c);
  d["batches"] = batches;
  d["seen"] = seen;
  d["right"] = right;
  d["loss_sum"] = loss_sum;
  d["seconds"] = seconds;
  d["point_loss"] = point_loss;
  d["point_seen"] = point_seen;
  return d;
}

History History::load(const nn::Dict& d) {
  History h;
  for (const auto& r : rows(d, "epochs", 5)) h.epochs.push_back({r[0], r[1], r[2], r[3], r[4]});
  for (const auto& r : rows(d, "curve", 2)) h.curve.emplace_back(r[0], r[1]);
  h.batches = nn::unbox<std::int64_t>(entry(d, "batches"));
  h.seen = nn::unbox<std::int64_t>(entry(d, "seen"));
  h.right = nn::unbox<std::int64_t>(entry(d, "right"));
  h.loss_sum = nn::unbox<double>(entry(d, "loss_sum"));
  h.seconds = nn::unbox<double>(entry(d, "seconds"));
  h.point_loss = nn::unbox<double>(entry(d, "point_loss"));
  h.point_seen = nn::unbox<std::int64_t>(entry(d, "point_seen"));
  return h;
}

History history_of(const std::string& checkpoint) {
  const nn::Dict extra = load_checkpoint(checkpoint, {}, Device());
  const nn::Value* h = extra.find("history");
  return h && h->is<nn::Dict>() ? History::load(*h->get<nn::Dict>()) : History();
}

std::optional<OtherRun> other_history(const std::string& checkpoint) {
  if (checkpoint.empty()) return {};
  return OtherRun{checkpoint.substr(checkpoint.rfind('/') + 1), history_of(checkpoint)};
}

}  // namespace neura::cli
